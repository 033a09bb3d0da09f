package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyno/cmd/dyno/revisions"
	"dyno/lab/escape"
	"dyno/lab/gobench"
	"dyno/lab/observe"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/jsonv1"
	"dyno/lab/report/reporttest"
	"dyno/lab/report/tuned"

	make "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write the golden files anew")

// objects are the Go types of the objects that commands print with --json.
func objects() map[string]any {
	of := func(kind string) any { return jsonv1.Object(&report.Report{Kind: kind}) }
	return map[string]any{
		"run": of(record.KindLadder), "load": of(record.KindLoad), "capacity": of(record.KindCapacity),
		"comparison": of(record.KindCompare), "diagnosis": of(record.KindDiagnose),
		"version": binary{}, "observation": observe.Report{}, "tune": tuned.Result{}, "doctor": health{}, "escape": escape.Object{},
		"bench": gobench.Result{}, "bisect": revisions.Found{}, "history": historyObject{},
	}
}

// TestSchemas checks that the published schemas are those of the Go types. If the keys of rows
// come from a table instead of a type, the schema is derived from the rows of the test reports.
func TestSchemas(t *testing.T) {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	examples := examplesOf(t)
	t.Chdir("../..") // comments are found by the paths of the packages
	reflector := reflectorOf(t)
	for name, o := range objects() {
		s := jsonOf(t, reflector.Reflect(o))
		s["title"] = "dyno." + name + "/1"
		s["description"] = "What the command prints with --json. Keys may be added, never changed."
		delete(s, "$id")
		nullable(s)
		for _, key := range []string{"steps", "databases"} {
			describeRows(s, key, examples[name])
		}
		s["properties"].(map[string]any)["schema"] = map[string]any{"const": "dyno." + name + "/1"}
		s["anyOf"] = []any{
			map[string]any{"required": s["required"]},
			map[string]any{"required": []string{"schema", "valid", "reason"}, "properties": map[string]any{"valid": map[string]any{"const": false}},
				"description": "the command ended before it measured anything"},
		}
		delete(s, "required")
		var got bytes.Buffer
		enc := json.NewEncoder(&got)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", " ")
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
		lines := lists.ReplaceAllFunc(got.Bytes(), func(list []byte) []byte { return []byte(strings.Join(strings.Fields(string(list)), " ")) })
		path := filepath.Join(root, "schemas", name+".json")
		if *update {
			if err := os.WriteFile(path, lines, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || !bytes.Equal(lines, want) {
			t.Errorf("%s is not what the Go types say (%v): go test ./cmd/dyno -run TestSchemas -update", path, err)
		}
	}
	if want := len(objects()) + 1; len(schemaNames()) != want {
		t.Errorf("%v are published; want %d", schemaNames(), want)
	}
}

// lists matches lists of texts, which the files have on one line each.
var lists = regexp.MustCompile(`\[\s+"[^\]"]*"(,\s+"[^\]"]*")*\s+\]`)

func reflectorOf(t *testing.T) *make.Reflector {
	r := &make.Reflector{Anonymous: true, ExpandedStruct: true, AllowAdditionalProperties: true}
	for _, dir := range []string{"lab/record", "lab/capacity", "lab/compare", "lab/diagnose", "lab/report", "lab/escape", "lab/gobench", "lab/probe/host", "lab/observe"} {
		if err := r.AddGoComments(module, "./"+dir); err != nil {
			t.Fatal(err)
		}
	}
	r.Namer = func(t reflect.Type) string {
		if t.Name() == "" {
			return "" // a type without a name is described where it is used
		}
		return filepath.Base(t.PkgPath()) + "." + t.Name()
	}
	number := &make.Schema{Type: "number"}
	null := &make.Schema{Type: "null"}
	r.Mapper = func(t reflect.Type) *make.Schema {
		switch t {
		case reflect.TypeFor[format.Value]():
			return &make.Schema{AnyOf: []*make.Schema{number, null}, Description: "null: not known"}
		case reflect.TypeFor[format.Interval]():
			return &make.Schema{AnyOf: []*make.Schema{{Type: "array", Items: number}, null}, Description: "[low, high]; null: not known"}
		case reflect.TypeFor[format.Numbers]():
			return &make.Schema{AnyOf: []*make.Schema{{Type: "array", Items: &make.Schema{}}, null}}
		case reflect.TypeFor[format.Seconds]():
			return &make.Schema{Type: "number", Description: "in seconds"}
		case reflect.TypeFor[record.SLO]():
			return &make.Schema{Type: "object", Description: "bounds of latencies in ms by p50_ms ... max_ms, errors as a share, gauges by name"}
		}
		if t.Name() == "object" { // its keys come from a table
			return &make.Schema{Type: "object"}
		}
		return nil
	}
	return r
}

// module is the path of the repository.
var module = strings.TrimSuffix(reflect.TypeFor[record.SLO]().PkgPath(), "/lab/record")

func jsonOf(t *testing.T, v any) (out map[string]any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// nullable permits null for lists, maps and objects behind pointers, since Go writes null if they
// are nil. The types do not show which may be nil.
func nullable(v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			nullable(x)
		}
	case map[string]any:
		properties, _ := v["properties"].(map[string]any)
		for name, p := range properties {
			s, ok := p.(map[string]any)
			if !ok {
				continue
			}
			nullable(s)
			switch s["type"] {
			case "array", "object", "number", "boolean":
				s["type"] = []any{s["type"], "null"}
			}
			if ref, ok := s["$ref"]; ok {
				delete(s, "$ref")
				s["anyOf"] = []any{map[string]any{"$ref": ref}, map[string]any{"type": "null"}}
			}
			properties[name] = s
		}
		for _, key := range []string{"$defs", "items", "additionalProperties"} {
			switch d := v[key].(type) {
			case map[string]any:
				nullable(d)
				if key == "$defs" {
					for _, s := range d {
						nullable(s)
					}
				}
			}
		}
	}
}

// describeRows derives the schema of a list's rows from the keys and types in examples.
func describeRows(s map[string]any, key string, examples []map[string]any) {
	list, ok := s["properties"].(map[string]any)[key].(map[string]any)
	if !ok {
		return
	}
	types, times, rows := map[string][]string{}, map[string]int{}, 0
	for _, e := range examples {
		members, _ := e[key].([]any)
		for _, m := range members {
			row, _ := m.(map[string]any)
			rows++
			for name, v := range row {
				times[name]++
				if kind := kindOf(v); !slices.Contains(types[name], kind) {
					types[name] = append(types[name], kind)
				}
			}
		}
	}
	properties, required := map[string]any{}, []string{}
	for name, kinds := range types {
		if !slices.Contains(kinds, "null") {
			kinds = append(kinds, "null")
		}
		slices.Sort(kinds)
		properties[name] = map[string]any{"type": kinds}
		if times[name] == rows {
			required = append(required, name)
		}
	}
	slices.Sort(required)
	list["items"] = map[string]any{"type": "object", "properties": properties, "required": required}
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// examplesOf returns the objects of the test reports that have a schema.
func examplesOf(t *testing.T) map[string][]map[string]any {
	out := map[string][]map[string]any{}
	for _, r := range reporttest.Reports() {
		var b bytes.Buffer
		if err := jsonv1.Write(&b, r); err != nil {
			t.Fatal(err)
		}
		var o map[string]any
		if err := json.Unmarshal(b.Bytes(), &o); err != nil {
			t.Fatal(err)
		}
		name := schemaOf(o)
		out[name] = append(out[name], o)
	}
	return out
}

func schemaOf(o map[string]any) string {
	s, _ := o["schema"].(string)
	return strings.TrimSuffix(strings.TrimPrefix(s, "dyno."), "/1")
}

// validate checks an object by the published schema that the object names.
func validate(o map[string]any) error {
	b, err := publishedSchema(schemaOf(o))
	if err != nil {
		return err
	}
	s, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", s); err != nil {
		return err
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		return err
	}
	return compiled.Validate(o)
}

// TestAllArePublished checks that every schema that the lab's code names is published, except
// those of what services print about themselves.
func TestAllArePublished(t *testing.T) {
	names := regexp.MustCompile(`"dyno\.([a-z]+)/1"`)
	found := 0
	for _, root := range []string{".", "../../lab"} {
		err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			code, err := os.ReadFile(path)
			for _, m := range names.FindAllSubmatch(code, -1) {
				name := string(m[1])
				found++
				if name != "assemblies" && !slices.Contains(schemaNames(), name) {
					t.Errorf("%s writes dyno.%s/1, of which dyno schema knows nothing", path, name)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 8 {
		t.Errorf("only %d names were found", found)
	}
}

// TestReportsValidate checks that every test report matches its published schema, and that a
// wrong report does not.
func TestReportsValidate(t *testing.T) {
	n := 0
	for name, list := range examplesOf(t) {
		for _, o := range list {
			n++
			if err := validate(o); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			o["warnings"] = "none"
			if validate(o) == nil {
				t.Errorf("%s: a text in place of the warnings was accepted", name)
			}
			delete(o, "warnings")
			if o["valid"] == true && validate(o) == nil { // an invalid one may have no keys after its reason
				t.Errorf("%s: an object without warnings was accepted", name)
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d reports", n)
	}
}
