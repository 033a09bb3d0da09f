package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var truths = []string{"cpu", "gc", "lock", "syscall", "wait", "generator", "environment", "not-loaded"}

func TestListIsComplete(t *testing.T) {
	functions := functionsOf(t)
	seen, shown := map[string]bool{}, map[string]bool{}
	for _, e := range list() {
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
		if (e.Kind != "") != slices.Contains([]string{"wait", "lock"}, e.Truth) {
			t.Errorf("%s is bound by %s of the kind %q", e.Name, e.Truth, e.Kind)
		}
		if (e.Function == "") != slices.Contains([]string{"generator", "not-loaded"}, e.Truth) {
			t.Errorf("%s is bound by %s in the function %q", e.Name, e.Truth, e.Function)
		}
		if e.InWords == "" || e.Family == "" || e.Also == nil || e.Invisible == nil || len(e.Parameters) == 0 {
			t.Errorf("%s: something is not said: %+v", e.Name, e)
		}
		if e.Neighbour != (e.Family == "environment") || (e.Load != load{}) != (e.Truth == "not-loaded") {
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

// functionsOf returns the package's function names as they appear in profiles.
func functionsOf(t *testing.T) map[string]bool {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
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
				names["main."+f.Name.Name] = true
			default:
				receiver := f.Recv.List[0].Type
				if p, ok := receiver.(*ast.StarExpr); ok {
					names["main.(*"+p.X.(*ast.Ident).Name+")."+f.Name.Name] = true
				} else {
					names["main."+receiver.(*ast.Ident).Name+"."+f.Name.Name] = true
				}
			}
		}
	}
	return names
}

func TestParametersComeFromTheSeed(t *testing.T) {
	differ := map[string]bool{}
	listed := list()
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		for i, e := range suite {
			first, second, other := newDraw(seed, e.Name), newDraw(seed, e.Name), newDraw(seed+1, e.Name)
			e.plan(first)
			e.plan(second)
			e.plan(other)
			for name, value := range first.values {
				limits, ok := listed[i].Parameters[name]
				if !ok || value < limits[0] || value > limits[1] {
					t.Fatalf("%s: %s is %d, the list says %v", e.Name, name, value, limits)
				}
				if second.values[name] != value {
					t.Fatalf("%s: the same seed gives %s %d and %d", e.Name, name, value, second.values[name])
				}
				differ[e.Name] = differ[e.Name] || other.values[name] != value
			}
			if len(first.values) != len(listed[i].Parameters) {
				t.Fatalf("%s draws %v, the list says %v", e.Name, first.values, listed[i].Parameters)
			}
		}
	})
	for _, e := range suite {
		if !differ[e.Name] {
			t.Errorf("%s is the same whatever the seed", e.Name)
		}
	}
}

func TestDrawReachesBothEnds(t *testing.T) {
	seen := map[int]bool{}
	d := newDraw(1, "ends")
	for range 200 {
		seen[d.between("n", 3, 5)] = true
	}
	if len(seen) != 3 || !seen[3] || !seen[5] {
		t.Errorf("of 3 to 5, drawn were %v", seen)
	}
}

func TestUnknownServerNamesThoseThatExist(t *testing.T) {
	_, err := find("mutex")
	if err == nil {
		t.Fatal("found a server that is none")
	}
	for _, e := range suite {
		if !strings.Contains(err.Error(), e.Name) {
			t.Errorf("%q does not name %s", err, e.Name)
		}
	}
}
