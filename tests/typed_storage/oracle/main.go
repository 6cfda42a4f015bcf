// Says what Kubernetes' Go structs make of JSON.
//
// With the argument "types" it writes what happens to the fields of all types, as JSON:
// the types of the objects of the built-in kinds, by their names in OpenAPI, and of each
// the names of its fields by what happens to them. See the docstring of
// smp/_storage/typed_storage/__init__.py.
//
// With "messages" it writes the fields of all types by their numbers in protobuf, with
// "samples SEED COUNT" random objects in protobuf and in JSON, with "changed SEED COUNT"
// such objects with some bytes changed (protobuf.go).
//
// Without an argument, it reads one JSON request a line, and writes one answer a line:
//
//	{"object"}: {"object"}, as its Go struct is printed, and {"atRest"}, as it is printed
//	after it was written to etcd, and read again
//
// An error is {"error": text}.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// The names of fields, by what happens to them.
type facts map[string][]string

var (
	marshaler = reflect.TypeFor[json.Marshaler]()
	// How values of these types are written: as canonical text, or a number.
	contents = map[reflect.Type]string{
		reflect.TypeFor[resource.Quantity]():  "quantity",
		reflect.TypeFor[metav1.Time]():        "time",
		reflect.TypeFor[metav1.MicroTime]():   "microTime",
		reflect.TypeFor[intstr.IntOrString](): "intOrString",
		reflect.TypeFor[float64]():            "number",
		reflect.TypeFor[[]byte]():             "bytes",
	}
	// Any JSON is printed as it was read; nothing is null.
	untyped = map[reflect.Type]bool{
		reflect.TypeFor[runtime.RawExtension](): true,
		reflect.TypeFor[metav1.FieldsV1]():      true,
		reflect.TypeFor[apiextensions.JSON]():   true,
	}
	// An object is printed as this type, a list as a list of it, and other values as
	// they are.
	either = map[reflect.Type]reflect.Type{
		reflect.TypeFor[apiextensions.JSONSchemaPropsOrArray]():       reflect.TypeFor[apiextensions.JSONSchemaProps](),
		reflect.TypeFor[apiextensions.JSONSchemaPropsOrBool]():        reflect.TypeFor[apiextensions.JSONSchemaProps](),
		reflect.TypeFor[apiextensions.JSONSchemaPropsOrStringArray](): reflect.TypeFor[apiextensions.JSONSchemaProps](),
	}
)

// openAPIName is how kube-openapi names a type: io.k8s.api.core.v1.Pod.
func openAPIName(t reflect.Type) string {
	host, path, _ := strings.Cut(t.PkgPath(), "/")
	labels := strings.Split(host, ".")
	reversed := []string{}
	for i := len(labels) - 1; i >= 0; i-- {
		reversed = append(reversed, labels[i])
	}
	return strings.Join(append(reversed, strings.Split(path, "/")...), ".") + "." + t.Name()
}

// walker collects the facts of types by their names.
type walker map[string]facts

func (w walker) visit(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		w.visit(t.Elem())
		return
	case reflect.Struct:
	default:
		return
	}
	if contents[t] != "" || untyped[t] {
		return
	}
	name := openAPIName(t)
	if inner := either[t]; inner != nil {
		w[name] = facts{"either": {openAPIName(inner)}}
		return
	}
	if reflect.PointerTo(t).Implements(marshaler) {
		panic("unknown json.Marshaler " + t.String())
	}
	if w[name] != nil {
		return
	}
	w[name] = facts{}
	w.fields(t, w[name])
}

func (w walker) fields(t reflect.Type, found facts) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if name == "" {
			if !field.Anonymous {
				panic("a field without a name in " + t.String())
			}
			w.fields(field.Type, found)
			continue
		}
		omits := map[string]bool{}
		for _, option := range strings.Split(options, ",") {
			omits[option] = true
		}
		happens := presence(field.Type, omits["omitempty"], omits["omitzero"])
		found[happens] = append(found[happens], name)
		if content := contents[innermost(field.Type)]; content != "" {
			found[content] = append(found[content], name)
		}
		w.visit(field.Type)
	}
}

// presence says when a field is printed.
func presence(t reflect.Type, omitEmpty, omitZero bool) string {
	special := contents[t] != "" || untyped[t]
	switch t.Kind() {
	case reflect.Pointer:
		if omitZero {
			panic("omitzero of a pointer")
		}
		if !omitEmpty {
			return "null"
		}
		if t.Elem().Kind() == reflect.Struct {
			return "plain"
		}
		return "pointer"
	case reflect.Slice, reflect.Map:
		if omitZero {
			panic("omitzero of a list or map")
		}
		if !omitEmpty {
			return "null"
		}
		return "plain"
	case reflect.Struct:
		if omitZero && contents[t] == "time" {
			return "omitZero"
		}
		if omitZero {
			panic("omitzero of a struct")
		}
		// omitempty does nothing to a struct.
		if untyped[t] || contents[t] == "time" || contents[t] == "microTime" {
			return "null"
		}
		return "always"
	}
	if special || omitZero {
		panic("unknown kind of field " + t.String())
	}
	if !omitEmpty {
		return "always"
	}
	return "plain"
}

func innermost(t reflect.Type) reflect.Type {
	for contents[t] == "" {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			t = t.Elem()
		default:
			return t
		}
	}
	return t
}

func kinds() *runtime.Scheme {
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, apiextensions.AddToScheme, apiregistration.AddToScheme,
	} {
		if err := add(all); err != nil {
			panic(err)
		}
	}
	return all
}

func types() {
	found := walker{}
	for kind, t := range kinds().AllKnownTypes() {
		if _, isObject := t.FieldByName("ObjectMeta"); isObject && kind.Version != runtime.APIVersionInternal {
			found.visit(t)
		}
	}
	text, err := json.Marshal(found)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}

// printed decodes an object as an API server does, and prints its Go struct.
func printed(decoder runtime.Decoder, all *runtime.Scheme, line []byte) (runtime.Object, error) {
	var request struct {
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(line, &request); err != nil {
		return nil, err
	}
	var identity metav1.TypeMeta
	if err := json.Unmarshal(request.Object, &identity); err != nil {
		return nil, err
	}
	kind := schema.FromAPIVersionAndKind(identity.APIVersion, identity.Kind)
	into, err := all.New(kind)
	if err != nil {
		return nil, err
	}
	obj, _, err := decoder.Decode(request.Object, &kind, into)
	return obj, err
}

// message is what all built-in kinds implement.
type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// atRest writes an object as protobuf, and reads it. A server writes
// CustomResourceDefinitions as JSON, which keeps what is printed.
func atRest(obj runtime.Object) (runtime.Object, error) {
	if _, isDefinition := obj.(*apiextensions.CustomResourceDefinition); isDefinition {
		return obj, nil
	}
	text, err := obj.(message).Marshal()
	if err != nil {
		return nil, err
	}
	read := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(runtime.Object)
	if err := read.(message).Unmarshal(text); err != nil {
		return nil, err
	}
	read.GetObjectKind().SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
	return read, nil
}

func ask(question string, arguments []string) {
	switch question {
	case "types":
		types()
	case "messages":
		protobufTypes()
	case "samples", "changed":
		seed, err := strconv.ParseInt(arguments[0], 10, 64)
		if err != nil {
			panic(err)
		}
		count, err := strconv.Atoi(arguments[1])
		if err != nil {
			panic(err)
		}
		samples(seed, count, question == "changed")
	default:
		panic("unknown question " + question)
	}
}

func main() {
	if len(os.Args) > 1 {
		ask(os.Args[1], os.Args[2:])
		return
	}
	all := kinds()
	decoder := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, all, all, kjson.SerializerOptions{})
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		answer := map[string]any{}
		answer["object"], err = printed(decoder, all, line)
		if err == nil {
			answer["atRest"], err = atRest(answer["object"].(runtime.Object))
		}
		if err != nil {
			answer = map[string]any{"error": err.Error()}
		}
		text, err := json.Marshal(answer)
		if err != nil {
			text, _ = json.Marshal(map[string]any{"error": err.Error()})
		}
		fmt.Println(string(text))
	}
}
