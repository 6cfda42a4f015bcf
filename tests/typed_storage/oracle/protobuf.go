package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"sort"
	"strings"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

// messages are the fields of all types as text: see smp/_storage/protobuf/__init__.py.
type messages map[string]string

// visit notes the type of a field, and returns how the table spells it.
func (m messages) visit(t reflect.Type, pkg string) string {
	switch t {
	case reflect.TypeFor[metav1.Duration]():
		panic("a duration: printed as text")
	case reflect.TypeFor[[]byte]():
		return "bytes"
	}
	if untyped[t] {
		return "raw"
	}
	if content := contents[t]; content != "" && t.Kind() == reflect.Struct {
		return content
	}
	switch t.Kind() {
	case reflect.Pointer:
		return m.visit(t.Elem(), pkg)
	case reflect.Slice:
		// A list in a map is a message of its own: ExtraValue.
		if t.Name() != "" && reflect.PointerTo(t).Implements(reflect.TypeFor[message]()) {
			name := openAPIName(t)
			m[name] = "items 1:items:[]" + m.visit(t.Elem(), pkg)
			return short(name, pkg)
		}
		return "[]" + m.visit(t.Elem(), pkg)
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			panic("a key of " + t.String())
		}
		return "{}" + m.visit(t.Elem(), pkg)
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int32:
		return "int32"
	case reflect.Int64:
		return "int64"
	case reflect.Float64:
		return "double"
	case reflect.Struct:
	default:
		panic("unknown kind of field " + t.String())
	}
	name := openAPIName(t)
	if m[name] == "" {
		// Named before it is complete, because it may contain a list of itself.
		m[name] = " "
		m[name] = m.fields(t)
	}
	return short(name, pkg)
}

func short(name, pkg string) string {
	return strings.TrimPrefix(name, pkg+".")
}

// How a field is marked by when it is printed.
var marks = map[string]string{
	"plain": ":", "pointer": "?", "always": "!", "null": "~", "omitZero": "-",
}

func (m messages) fields(t reflect.Type) string {
	pkg := openAPIName(t)
	pkg = pkg[:strings.LastIndex(pkg, ".")]
	found := []string{}
	_, isEither := either[t]
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		tag := field.Tag.Get("protobuf")
		if tag == "" || tag == "-" {
			if field.Type != reflect.TypeFor[metav1.TypeMeta]() && name != "-" && !isEither {
				panic("a field without a number in " + t.String() + ": " + field.Name)
			}
			if !isEither {
				continue
			}
		}
		if isEither {
			// These have a marshaller of their own, and are printed as the first of
			// their fields that is there: a list, a schema, a boolean.
			number := strings.Split(tag, ",")[1]
			mark := map[reflect.Kind]string{
				reflect.Slice: ":", reflect.Pointer: "?", reflect.Bool: "!",
			}[field.Type.Kind()]
			order := map[reflect.Kind]string{reflect.Slice: "1", reflect.Pointer: "2", reflect.Bool: "3"}
			name := strings.ToLower(field.Name[:1]) + field.Name[1:]
			found = append(found, order[field.Type.Kind()]+number+mark+name+":"+m.visit(field.Type, pkg))
			continue
		}
		number := strings.Split(tag, ",")[1]
		if name == "" {
			if !field.Anonymous || field.Type.Kind() != reflect.Struct {
				panic("a field without a name in " + t.String())
			}
			found = append(found, number+"&:"+m.visit(field.Type, pkg))
			continue
		}
		omits := map[string]bool{}
		for _, option := range strings.Split(options, ",") {
			omits[option] = true
		}
		mark := marks[presence(field.Type, omits["omitempty"], omits["omitzero"])]
		if field.Type.Kind() == reflect.Pointer && mark == ":" {
			mark = "?"
		}
		if mark == ":" && field.Type.Kind() == reflect.Struct {
			panic("a struct that is dropped: " + name)
		}
		found = append(found, number+mark+name+":"+m.visit(field.Type, pkg))
	}
	if isEither {
		sort.Strings(found)
		for i := range found {
			found[i] = found[i][1:]
		}
		return "either " + strings.Join(found, " ")
	}
	return strings.Join(found, " ")
}

// protobufTypes writes the messages of all kinds that are sent as protobuf, and their names.
func protobufTypes() {
	found := messages{}
	named := map[string]map[string]string{}
	for kind, t := range kinds().AllKnownTypes() {
		if kind.Version == runtime.APIVersionInternal || kind.Kind == watchEvent || !isMessage(t) {
			continue
		}
		name := found.visit(t, "")
		version := kind.GroupVersion().String()
		if named[version] == nil {
			named[version] = map[string]string{}
		}
		named[version][kind.Kind] = name
	}
	print(map[string]any{"messages": found, "kinds": named})
}

func isMessage(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[message]()) && t.Kind() == reflect.Struct
}

func print(value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}

// It is no object, and not sent to a server.
const watchEvent = "WatchEvent"

const letters = "ab.-/<é\u2028"

// filler makes random values that JSON and protobuf both have.
func filler(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.6).NumElements(0, 2).MaxDepth(12).Funcs(
		func(s *string, c randfill.Continue) {
			text := []rune(letters)
			made := make([]rune, c.Intn(5))
			for i := range made {
				made[i] = text[c.Intn(len(text))]
			}
			*s = string(made)
		},
		func(i *int64, c randfill.Continue) {
			*i = []int64{0, 1, -1, 80, 1 << 40, -1 << 63}[c.Intn(6)]
		},
		func(i *int32, c randfill.Continue) {
			*i = []int32{0, 1, -1, 80, 1<<31 - 1, -1 << 31}[c.Intn(6)]
		},
		func(f *float64, c randfill.Continue) {
			*f = []float64{0, 1, -2, 0.5, 1e21, 1e-7}[c.Intn(6)]
		},
		func(q *resource.Quantity, c randfill.Continue) {
			texts := []string{"0", "1", "100m", "1.5Gi", "1e3", "0.1", "1536Mi", "-5", "1000k", "12E"}
			*q = resource.MustParse(texts[c.Intn(len(texts))])
		},
		func(i *intstr.IntOrString, c randfill.Continue) {
			*i = []intstr.IntOrString{
				{}, intstr.FromInt32(80), intstr.FromInt32(-1), intstr.FromString(""), intstr.FromString("25%"),
			}[c.Intn(5)]
		},
		func(t *metav1.Time, c randfill.Continue) { t.Time = moment(c) },
		func(t *metav1.MicroTime, c randfill.Continue) { t.Time = moment(c) },
		func(t *metav1.TypeMeta, c randfill.Continue) {},
		func(r *runtime.RawExtension, c randfill.Continue) { r.Raw = raw(c) },
		func(r *apiextensions.JSON, c randfill.Continue) { r.Raw = raw(c) },
		func(f *metav1.FieldsV1, c randfill.Continue) { f.SetRawBytes([]byte(`{"f:spec":{"f:a":{}}}`)) },
		func(s *apiextensions.JSONSchemaPropsOrBool, c randfill.Continue) {
			if s.Allows = c.Bool(); s.Allows && c.Bool() {
				s.Schema = &apiextensions.JSONSchemaProps{}
				c.Fill(s.Schema)
			}
		},
	)
}

func moment(c randfill.Continue) time.Time {
	seconds := []int64{0, 1, -1, 1774186079, -62135596799, 253402300799}
	if c.Intn(5) == 0 {
		return time.Time{}
	}
	return time.Unix(seconds[c.Intn(len(seconds))], int64(c.Intn(3))*123456789)
}

func raw(c randfill.Continue) []byte {
	texts := []string{"", `{}`, `{"a":null,"b":["",1.5]}`, `"é"`, `0`, `[{}]`, `{"kind":"a"}`}
	if found := texts[c.Intn(len(texts))]; found != "" {
		return []byte(found)
	}
	return nil
}

// samples makes as many random objects of each kind as are asked for, and writes each as
// protobuf and as JSON, as it is printed after it was read. With changes, bytes of the
// protobuf are changed before that.
func samples(seed int64, count int, changes bool) {
	all := kinds()
	names := []schema.GroupVersionKind{}
	for kind, t := range all.AllKnownTypes() {
		isMeta := strings.HasPrefix(t.PkgPath(), "k8s.io/apimachinery") && kind.GroupVersion().String() != "v1"
		if kind.Version != runtime.APIVersionInternal && isMessage(t) && !isMeta && kind.Kind != watchEvent {
			names = append(names, kind)
		}
	}
	sort.Slice(names, func(i, j int) bool { return names[i].String() < names[j].String() })
	serializer := protobuf.NewSerializer(all, all)
	fill := filler(seed)
	random := rand.New(rand.NewSource(seed))
	for range count {
		for _, kind := range names {
			obj, err := all.New(kind)
			if err != nil {
				panic(err)
			}
			fill.Fill(obj)
			obj.GetObjectKind().SetGroupVersionKind(kind)
			var text bytes.Buffer
			if err := serializer.Encode(obj, &text); err != nil {
				panic(err)
			}
			body := text.Bytes()
			if changes && random.Intn(8) == 0 {
				body = append(body[:4:4], changed(random, body[4:])...)
			} else if changes {
				body = within(serializer, kind, changed(random, inner(obj)))
			}
			print(decoded(serializer, body))
		}
	}
}

// decoded returns a body, and what is printed of the object that it has.
func decoded(serializer runtime.Serializer, body []byte) map[string]any {
	answer := map[string]any{"protobuf": body}
	obj, err := decode(serializer, body)
	if err != nil {
		answer["error"] = err.Error()
		return answer
	}
	text, err := json.Marshal(obj)
	if err != nil {
		answer["error"] = err.Error()
	} else {
		// What was JSON in the bytes is printed as it was, also what is not in UTF-8.
		answer["object"] = json.RawMessage(string([]rune(string(text))))
	}
	return answer
}

func decode(serializer runtime.Serializer, body []byte) (obj runtime.Object, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("panic: %v", problem)
		}
	}()
	obj, kind, err := serializer.Decode(body, nil, nil)
	if err == nil {
		obj.GetObjectKind().SetGroupVersionKind(*kind)
	}
	return obj, err
}

// inner returns the message of an object, without the envelope.
func inner(obj runtime.Object) []byte {
	text, err := obj.(message).Marshal()
	if err != nil {
		panic(err)
	}
	return text
}

// within returns an envelope with bytes as the message of an object.
func within(serializer runtime.Serializer, kind schema.GroupVersionKind, content []byte) []byte {
	envelope := runtime.Unknown{Raw: content}
	envelope.SetGroupVersionKind(kind)
	var text bytes.Buffer
	if err := serializer.Encode(&envelope, &text); err != nil {
		panic(err)
	}
	return text.Bytes()
}

// changed returns bytes with one or two random changes.
func changed(random *rand.Rand, content []byte) []byte {
	changed := bytes.Clone(content)
	for range 1 + random.Intn(2) {
		if len(changed) == 0 {
			break
		}
		at := random.Intn(len(changed))
		switch random.Intn(5) {
		case 0:
			changed[at] = byte(random.Intn(256))
		case 1:
			changed[at] ^= 1 << random.Intn(8)
		case 2:
			changed = changed[:at]
		case 3:
			changed = append(changed[:at], changed[at+1:]...)
		case 4:
			end := min(len(changed), at+1+random.Intn(8))
			repeated := bytes.Clone(changed[at:end])
			changed = append(changed[:end:end], append(repeated, changed[end:]...)...)
		}
	}
	return changed
}
