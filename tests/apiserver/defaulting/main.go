// Defaulting answers what kube-apiserver makes of objects between decoding and storing.
//
// It reads one JSON object a line, decodes it into the type of its apiVersion and kind,
// which calls the defaulting functions, converts it to the internal type and back, and
// writes one line: the object, or {"error": MESSAGE} where it cannot be decoded. Nothing
// is validated and nothing allocated, so that every object has an answer.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsinstall "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/controlplane"
)

func main() {
	definitions := runtime.NewScheme()
	apiextensionsinstall.Install(definitions)
	codecs := map[string]serializer.CodecFactory{
		apiextensions.GroupName:  serializer.NewCodecFactory(definitions),
		"apiregistration.k8s.io": aggregatorscheme.Codecs,
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<26)
	out := bufio.NewWriter(os.Stdout)
	for in.Scan() {
		answer, err := stored(in.Bytes(), codecs)
		if err != nil {
			answer, _ = json.Marshal(map[string]string{"error": err.Error()})
		}
		out.Write(answer)
		if len(answer) == 0 || answer[len(answer)-1] != '\n' {
			out.WriteByte('\n')
		}
		out.Flush()
	}
}

func stored(line []byte, codecs map[string]serializer.CodecFactory) ([]byte, error) {
	var kind struct {
		APIVersion string `json:"apiVersion"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return nil, err
	}
	version, err := schema.ParseGroupVersion(kind.APIVersion)
	if err != nil {
		return nil, err
	}
	factory, ok := codecs[version.Group]
	if !ok {
		factory = legacyscheme.Codecs
	}
	codec := factory.LegacyCodec(version)
	obj, err := runtime.Decode(codec, line)
	if err != nil {
		return nil, err
	}
	return runtime.Encode(codec, obj)
}
