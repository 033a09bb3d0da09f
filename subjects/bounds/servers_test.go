package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dyno/subjects/bounds/suite"
)

var truths = []string{"cpu", "gc", "lock", "syscall", "wait", "generator", "environment", "not-loaded", "unknown"}

// A calibration checks names before it builds the servers.
func TestNamesOfTheCalibration(t *testing.T) {
	const file = "../../bench/calibrate/suite/names.txt"
	want := ""
	for _, e := range suite.Listed(entries) {
		want += e.Family + " " + e.Name + "\n"
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%v; %s should be\n%s", err, file, want)
	}
}

func TestListIsComplete(t *testing.T) {
	functions := map[string]bool{}
	functionsOf(t, ".", "main", functions)
	functionsOf(t, "pages", "dyno/subjects/bounds/pages", functions)
	seen, shown := map[string]bool{}, map[string]bool{}
	for _, e := range suite.Listed(entries) {
		if seen[e.Name] {
			t.Errorf("%s is there twice", e.Name)
		}
		seen[e.Name], shown[e.Truth] = true, true
		for _, also := range e.Also {
			shown[also] = true
		}
		if !slices.Contains(truths, e.Truth) {
			t.Errorf("%s: truth %q", e.Name, e.Truth)
		}
		for _, also := range e.Also {
			if !slices.Contains(truths, also) || also == e.Truth {
				t.Errorf("%s: also %q", e.Name, also)
			}
		}
		if e.Function != "" && !functions[e.Function] {
			t.Errorf("%s: there is no function %s", e.Name, e.Function)
		}
		if e.InWords == "" || e.Family == "" || e.Also == nil || e.Invisible == nil || len(e.Parameters) == 0 {
			t.Errorf("%s: something is not said: %+v", e.Name, e)
		}
		if e.Runtime != "" {
			continue // seen from outside: of any kind, at no place
		}
		if (e.Kind != "") != slices.Contains([]string{"wait", "lock"}, e.Truth) {
			t.Errorf("%s is bound by %s of the kind %q", e.Name, e.Truth, e.Kind)
		}
		if (e.Function == "") != slices.Contains([]string{"generator", "not-loaded"}, e.Truth) {
			t.Errorf("%s is bound by %s in the function %q", e.Name, e.Truth, e.Function)
		}
		if e.Neighbour != (e.Family == "environment") || (e.Load != suite.Load{}) != (e.Truth == "not-loaded") {
			t.Errorf("%s is bound by %s: neighbour %t, load %+v", e.Name, e.Truth, e.Neighbour, e.Load)
		}
		for _, inside := range e.Invisible {
			if inside != "none" && inside != "pprof" {
				t.Errorf("%s: invisible %q", e.Name, inside)
			}
		}
	}
	for _, truth := range truths {
		if !shown[truth] {
			t.Errorf("no server is bound by %s", truth)
		}
	}
}

// functionsOf adds a package's function names as they appear in profiles.
func functionsOf(t *testing.T, dir, pkg string, names map[string]bool) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			switch {
			case !ok:
			case f.Recv == nil:
				names[pkg+"."+f.Name.Name] = true
			default:
				receiver := f.Recv.List[0].Type
				if p, ok := receiver.(*ast.StarExpr); ok {
					names[pkg+".(*"+p.X.(*ast.Ident).Name+")."+f.Name.Name] = true
				} else {
					names[pkg+"."+receiver.(*ast.Ident).Name+"."+f.Name.Name] = true
				}
			}
		}
	}
}

func TestParametersComeFromTheSeed(t *testing.T) {
	differ := map[string]bool{}
	listed := suite.Listed(entries)
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		for i, e := range servers {
			first, second, other := suite.NewDraw(seed, e.Name), suite.NewDraw(seed, e.Name), suite.NewDraw(seed+1, e.Name)
			e.Plan(first)
			e.Plan(second)
			e.Plan(other)
			for name, value := range first.Values {
				limits, ok := listed[i].Parameters[name]
				if !ok || value < limits[0] || value > limits[1] {
					t.Fatalf("%s: %s is %d, the list says %v", e.Name, name, value, limits)
				}
				if second.Values[name] != value {
					t.Fatalf("%s: the same seed gives %s %d and %d", e.Name, name, value, second.Values[name])
				}
				differ[e.Name] = differ[e.Name] || other.Values[name] != value
			}
			if len(first.Values) != len(listed[i].Parameters) {
				t.Fatalf("%s draws %v, the list says %v", e.Name, first.Values, listed[i].Parameters)
			}
		}
	})
	for _, e := range servers {
		if !differ[e.Name] {
			t.Errorf("%s is the same whatever the seed", e.Name)
		}
	}
}

func TestRemediesScaleParameters(t *testing.T) {
	for _, e := range suite.Listed(entries) {
		for _, r := range e.Remedies {
			for name := range r.Scale {
				if _, known := e.Parameters[name]; !known {
					t.Errorf("%s: %q scales %q, which is no parameter", e.Name, r.InWords, name)
				}
			}
			if r.InWords == "" || len(r.Scale) == 0 || r.Bound+r.CPU <= 0 || r.CPU > 0 && r.Compute == "" {
				t.Errorf("%s: %+v", e.Name, r)
			}
		}
	}
}

func TestDrawReachesBothEnds(t *testing.T) {
	seen := map[int]bool{}
	d := suite.NewDraw(1, "ends")
	for range 200 {
		seen[d.Between("n", 3, 5)] = true
	}
	if len(seen) != 3 || !seen[3] || !seen[5] {
		t.Errorf("of 3 to 5, drawn were %v", seen)
	}
}

func TestUnknownServerNamesThoseThatExist(t *testing.T) {
	_, err := suite.Find(entries, "mutex")
	if err == nil {
		t.Fatal("found a server that is none")
	}
	for _, e := range servers {
		if !strings.Contains(err.Error(), e.Name) {
			t.Errorf("%q does not name %s", err, e.Name)
		}
	}
}
