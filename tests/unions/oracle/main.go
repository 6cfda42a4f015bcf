// Runs applies and updates with unions in structured-merge-diff v4.3.0, the last
// version that has them.
//
// It reads one JSON request a line, and writes one answer a line:
//
//	{"types": [TYPE], "type": NAME, "steps": [{"apply" | "update": OBJECT, "manager", "force"}]}
//	{"results": [{"object": OBJECT, "owners": {MANAGER: SET}} | {"conflicts": [{"manager", "field"}]} | {"error": TEXT}]}
//
// TYPE is a type definition of its schemas, SET the text of fieldsV1.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/merge"
	"sigs.k8s.io/structured-merge-diff/v4/typed"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

const version = fieldpath.APIVersion("v1")

type step struct {
	Apply   any    `json:"apply"`
	Update  any    `json:"update"`
	Manager string `json:"manager"`
	Force   bool   `json:"force"`
}

type request struct {
	Types json.RawMessage `json:"types"`
	Type  string          `json:"type"`
	Steps []step          `json:"steps"`
}

// There is one version, so nothing is converted.
type sameVersion struct{}

func (sameVersion) Convert(object *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return object, nil
}

func (sameVersion) IsMissingVersionError(error) bool { return false }

func run(r request) (any, error) {
	parser, err := typed.NewParser(typed.YAMLObject(`{"types": ` + string(r.Types) + `}`))
	if err != nil {
		return nil, err
	}
	kind := parser.Type(r.Type)
	live, err := kind.FromUnstructured(map[string]any{})
	if err != nil {
		return nil, err
	}
	managers := fieldpath.ManagedFields{}
	updater := (&merge.UpdaterBuilder{Converter: sameVersion{}, EnableUnions: true, ReturnInputOnNoop: true}).BuildUpdater()
	answers := []any{}
	for _, s := range r.Steps {
		// A step that fails must not change what the next one begins with.
		result, owners, err := write(updater, kind, live, managers.Copy(), s)
		var conflicts merge.Conflicts
		switch {
		case errors.As(err, &conflicts):
			found := []any{}
			for _, conflict := range conflicts {
				found = append(found, map[string]string{"manager": conflict.Manager, "field": conflict.Path.String()})
			}
			answers = append(answers, map[string]any{"conflicts": found})
		case err != nil:
			answers = append(answers, map[string]any{"error": err.Error()})
		default:
			live, managers = result, owners
			sets := map[string]string{}
			for manager, set := range managers {
				text, err := set.Set().ToJSON()
				if err != nil {
					return nil, err
				}
				sets[manager] = string(text)
			}
			text, err := value.ToJSON(live.AsValue())
			if err != nil {
				return nil, err
			}
			answers = append(answers, map[string]any{"object": json.RawMessage(text), "owners": sets})
		}
	}
	return map[string]any{"results": answers}, nil
}

func write(updater *merge.Updater, kind typed.ParseableType, live *typed.TypedValue, managers fieldpath.ManagedFields, s step) (*typed.TypedValue, fieldpath.ManagedFields, error) {
	if s.Apply != nil {
		configuration, err := kind.FromUnstructured(s.Apply)
		if err != nil {
			return nil, nil, err
		}
		return updater.Apply(live, configuration, version, managers, s.Manager, s.Force)
	}
	object, err := kind.FromUnstructured(s.Update)
	if err != nil {
		return nil, nil, err
	}
	return updater.Update(live, object, version, managers, s.Manager)
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	for lines.Scan() {
		var r request
		var answer any
		err := json.Unmarshal(lines.Bytes(), &r)
		if err == nil {
			answer, err = run(r)
		}
		if err != nil {
			answer = map[string]string{"bad_request": err.Error()}
		}
		if err := encoder.Encode(answer); err != nil {
			os.Exit(1)
		}
	}
}
