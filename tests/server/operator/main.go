// An operator on controller-runtime, and the test of it against a server.
//
// The operator gives each Widget a finalizer, a ConfigMap that the Widget owns, and a
// status. The definition has a rule in CEL: the size of a Widget does not change. A
// webhook of controller-runtime refuses Widgets that are too large. The kubeconfig is
// the argument; the webhook is served on 127.0.0.1, with a certificate of its own.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"
)

const (
	finalizer  = "example.com/cleanup"
	tooLarge   = "a widget of this size does not fit"
	definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size:
                type: integer
                x-kubernetes-validations:
                - {rule: self == oldSelf, message: the size does not change}
              color: {type: string, default: red}
          status:
            type: object
            properties: {ready: {type: boolean}}
`
)

var kind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

func widget(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace("default")
	object.SetName(name)
	return object
}

func configMap(name string) *corev1.ConfigMap {
	meta := metav1.ObjectMeta{Namespace: "default", Name: name}
	return &corev1.ConfigMap{ObjectMeta: meta}
}

type reconciler struct{ client.Client }

func (r reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := widget(request.Name)
	if err := r.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !object.GetDeletionTimestamp().IsZero() {
		// What is outside of the cluster goes: here its trace is a ConfigMap.
		err := r.Create(ctx, configMap("cleaned-"+object.GetName()))
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return ctrl.Result{}, err
		}
		if controllerutil.RemoveFinalizer(object, finalizer) {
			return ctrl.Result{}, r.Update(ctx, object)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(object, finalizer) {
		return ctrl.Result{}, r.Update(ctx, object)
	}
	owned := configMap(object.GetName())
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, owned, func() error {
		color, _, _ := unstructured.NestedString(object.Object, "spec", "color")
		owned.Data = map[string]string{"color": color}
		return controllerutil.SetControllerReference(object, owned, r.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if ready, _, _ := unstructured.NestedBool(object.Object, "status", "ready"); ready {
		return ctrl.Result{}, nil
	}
	before := object.DeepCopy()
	if err := unstructured.SetNestedField(object.Object, true, "status", "ready"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.Status().Patch(ctx, object, client.MergeFrom(before))
}

// certificate writes a certificate for 127.0.0.1 that signs itself, and returns it.
func certificate(folder string) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "operator"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	private := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})
	if err := os.WriteFile(filepath.Join(folder, "tls.crt"), public, 0o600); err != nil {
		return nil, err
	}
	return public, os.WriteFile(filepath.Join(folder, "tls.key"), private, 0o600)
}

func judge(_ context.Context, request admission.Request) admission.Response {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(request.Object.Raw); err != nil {
		return admission.Errored(400, err)
	}
	size, _, _ := unstructured.NestedInt64(object.Object, "spec", "size")
	if size > 100 {
		return admission.Denied(tooLarge)
	}
	return admission.Allowed("").WithWarnings("widgets are made to order")
}

func configuration(url string, authority []byte) *admissionv1.ValidatingWebhookConfiguration {
	none := admissionv1.SideEffectClassNone
	rule := admissionv1.Rule{
		APIGroups: []string{"example.com"}, APIVersions: []string{"v1"}, Resources: []string{"widgets"},
	}
	hook := admissionv1.ValidatingWebhook{
		Name:         "sizes.example.com",
		ClientConfig: admissionv1.WebhookClientConfig{URL: &url, CABundle: authority},
		Rules: []admissionv1.RuleWithOperations{
			{Operations: []admissionv1.OperationType{"CREATE"}, Rule: rule},
		},
		SideEffects:             &none,
		AdmissionReviewVersions: []string{"v1"},
	}
	return &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "sizes"},
		Webhooks:   []admissionv1.ValidatingWebhook{hook},
	}
}

func eventually(ctx context.Context, what string, done func(context.Context) (bool, error)) error {
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 30*time.Second, true, done)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func check(ctx context.Context, api client.Client) error {
	key := client.ObjectKey{Namespace: "default", Name: "a"}
	large := widget("b")
	_ = unstructured.SetNestedField(large.Object, int64(101), "spec", "size")
	if err := api.Create(ctx, large); err == nil || !strings.Contains(err.Error(), tooLarge) {
		return fmt.Errorf("the webhook did not refuse: %v", err)
	}
	made := widget("a")
	_ = unstructured.SetNestedField(made.Object, int64(3), "spec", "size")
	if err := api.Create(ctx, made); err != nil {
		return err
	}
	found := widget("a")
	err := eventually(ctx, "the status", func(ctx context.Context) (bool, error) {
		if err := api.Get(ctx, key, found); err != nil {
			return false, err
		}
		ready, _, _ := unstructured.NestedBool(found.Object, "status", "ready")
		return ready && controllerutil.ContainsFinalizer(found, finalizer), nil
	})
	if err != nil {
		return err
	}
	owned := configMap("a")
	if err := api.Get(ctx, key, owned); err != nil {
		return err
	}
	if owned.Data["color"] != "red" || !metav1.IsControlledBy(owned, found) {
		return fmt.Errorf("the ConfigMap is not that of the widget: %v", owned)
	}
	// The rule in CEL holds for updates, and the operator for what it owns.
	changed := found.DeepCopy()
	_ = unstructured.SetNestedField(changed.Object, int64(4), "spec", "size")
	err = api.Update(ctx, changed)
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "the size does not change") {
		return fmt.Errorf("the rule did not refuse: %v", err)
	}
	if err := api.Delete(ctx, owned); err != nil {
		return err
	}
	err = eventually(ctx, "the ConfigMap made again", func(ctx context.Context) (bool, error) {
		again := configMap("a")
		err := api.Get(ctx, key, again)
		return err == nil && again.UID != owned.UID, client.IgnoreNotFound(err)
	})
	if err != nil {
		return err
	}
	if err := api.Delete(ctx, found); err != nil {
		return err
	}
	err = eventually(ctx, "the deletion", func(ctx context.Context) (bool, error) {
		err := api.Get(ctx, key, widget("a"))
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return err
	}
	return api.Get(ctx, client.ObjectKey{Namespace: "default", Name: "cleaned-a"}, configMap(""))
}

func run(kubeconfig, folder string) error {
	ctrl.SetLogger(logr.Discard())
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	api, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	defined := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(definition), &defined.Object); err != nil {
		return err
	}
	if err := api.Create(ctx, defined); err != nil {
		return err
	}
	authority, err := certificate(folder)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	hooks := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: folder})
	// A server that serves a definition may say so a moment after it took it.
	mapped := func(ctx context.Context) (bool, error) {
		err := api.List(ctx, &unstructured.UnstructuredList{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "WidgetList",
		}})
		return err == nil, nil
	}
	if err := eventually(ctx, "the definition", mapped); err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Metrics: server.Options{BindAddress: "0"}, WebhookServer: hooks,
	})
	if err != nil {
		return err
	}
	// The manager starts it once it was asked for.
	manager.GetWebhookServer().Register(
		"/sizes", &webhook.Admission{Handler: admission.HandlerFunc(judge)},
	)
	builder := ctrl.NewControllerManagedBy(manager).For(widget("")).Owns(&corev1.ConfigMap{})
	if err := builder.Complete(reconciler{manager.GetClient()}); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	url := fmt.Sprintf("https://127.0.0.1:%d/sizes", port)
	if err := api.Create(ctx, configuration(url, authority)); err != nil {
		return err
	}
	started := func(context.Context) (bool, error) {
		select {
		case err := <-ended:
			return false, fmt.Errorf("the manager ended: %w", err)
		default:
			return hooks.StartedChecker()(nil) == nil, nil
		}
	}
	if err := eventually(ctx, "the webhook", started); err != nil {
		return errors.Join(err, hooks.StartedChecker()(nil))
	}
	err = check(ctx, api)
	stop()
	return errors.Join(err, <-ended)
}

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ok")
}
