// Writes and reads objects with the typed client of client-go, which sends protobuf.
//
// The argument is the path of a kubeconfig. It ends with an error at the first answer that
// is not that of a Kubernetes API server.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	applyapps "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const name = "web"

func deployment() *apps.Deployment {
	labels := map[string]string{"app": name}
	replicas := int32(0)
	return &apps.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: apps.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: core.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: core.PodSpec{Containers: []core.Container{{
					Name:  "app",
					Image: "nginx",
					Resources: core.ResourceRequirements{Requests: core.ResourceList{
						core.ResourceCPU: resource.MustParse("0.5"),
					}},
				}}},
			},
		},
	}
}

func expect(what string, err error, is bool) {
	if err != nil {
		panic(fmt.Sprintf("%s: %v", what, err))
	}
	if !is {
		panic(what + ": another answer was expected")
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	expect("kubeconfig", err, true)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	clients, err := kubernetes.NewForConfig(config)
	expect("client", err, true)
	client := clients.AppsV1().Deployments("default")

	watcher, err := client.Watch(ctx, metav1.ListOptions{})
	expect("watch", err, true)
	created, err := client.Create(ctx, deployment(), metav1.CreateOptions{})
	expect("create", err, *created.Spec.Replicas == 0 && created.UID != "")
	cpu := created.Spec.Template.Spec.Containers[0].Resources.Requests[core.ResourceCPU]
	expect("quantity", nil, cpu.String() == "500m")
	_, err = client.Create(ctx, deployment(), metav1.CreateOptions{})
	expect("second create", nil, apierrors.IsAlreadyExists(err))

	found, err := client.Get(ctx, name, metav1.GetOptions{})
	expect("get", err, found.ResourceVersion == created.ResourceVersion)
	found.Spec.Template.Spec.Containers[0].Image = "nginx:1"
	updated, err := client.Update(ctx, found, metav1.UpdateOptions{})
	expect("update", err, updated.Generation == 2)
	_, err = client.Update(ctx, created, metav1.UpdateOptions{})
	expect("old update", nil, apierrors.IsConflict(err))

	updated.Status.Replicas = 3
	updated, err = client.UpdateStatus(ctx, updated, metav1.UpdateOptions{})
	expect("update of the status", err, updated.Status.Replicas == 3)
	scale, err := client.GetScale(ctx, name, metav1.GetOptions{})
	expect("scale", err, scale.Spec.Replicas == 0)
	scale.Spec.Replicas = 4
	scale, err = client.UpdateScale(ctx, name, scale, metav1.UpdateOptions{})
	expect("update of the scale", err, scale.Spec.Replicas == 4)

	patch := []byte(`{"spec":{"paused":true}}`)
	patched, err := client.Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	expect("patch", err, patched.Spec.Paused && *patched.Spec.Replicas == 4)
	configuration := applyapps.Deployment(name, "default").WithLabels(map[string]string{"a": "b"})
	applied, err := client.Apply(ctx, configuration, metav1.ApplyOptions{FieldManager: "typed-client"})
	expect("apply", err, applied.Labels["a"] == "b")

	wrong := types.UID("another")
	err = client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
	expect("delete of another", nil, apierrors.IsConflict(err))
	background := metav1.DeletePropagationBackground
	err = client.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
	expect("delete", err, true)
	_, err = client.Get(ctx, name, metav1.GetOptions{})
	expect("get after delete", nil, apierrors.IsNotFound(err))

	seen := []watch.EventType{}
	for event := range watcher.ResultChan() {
		seen = append(seen, event.Type)
		if event.Type == watch.Deleted {
			break
		}
	}
	expect("events", nil, seen[0] == watch.Added && len(seen) > 4)
	fmt.Println("ok")
}
