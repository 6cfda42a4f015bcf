# The command smp, and smp serve. The release workflow builds it with the wheels in dist/;
# where that is empty, `docker build .` builds the wheel from the sources first.
#
#   docker run --rm -v "$PWD:/work" IMAGE lint .
#   docker run --rm -p 8001:8001 -v ./token:/token:ro IMAGE serve --host 0.0.0.0 --token-file /token
FROM python:3.13-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev
COPY . /source
WORKDIR /source
RUN python -m venv /smp
# Of the wheels in dist/ pip takes the one for this machine.
RUN ls dist/*.whl || SMP_COMPILE=1 SMP_COMPILE_LEVEL=3 /smp/bin/pip wheel --no-deps --wheel-dir dist .
RUN /smp/bin/pip install --no-cache-dir --find-links dist --pre \
    "strategic-merge-patch[cluster,etcd,fleet,go,report,server,uvloop]"

FROM python:3.13-slim-bookworm
LABEL org.opencontainers.image.title="smp" \
    org.opencontainers.image.description="The strategic merge patch engine for Kubernetes objects" \
    org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /smp /smp
ENV PATH=/smp/bin:$PATH PYTHONDONTWRITEBYTECODE=1
WORKDIR /work
# No user of an image should be root.
USER 65532:65532
EXPOSE 8001
ENTRYPOINT ["smp"]
CMD ["--help"]
