package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyno/bench/command"
	"dyno/bench/stored"
	"dyno/lab/record"
	"dyno/lab/scenario"

	"github.com/spf13/pflag"
	"go.uber.org/goleak"
)

// The list names every scenario once, each with the program as it is and its change, and an answer that
// would be right.
func TestLoads(t *testing.T) {
	all, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	used, kinds, loads := map[string]bool{}, map[string]bool{}, 0
	for _, p := range all {
		kinds[p.Kind] = true
		if p.version() == "" || p.Kind == "" {
			t.Errorf("%s: it needs a kind and a module's version", p.Name)
		}
		for _, l := range p.Loads {
			loads++
			used[l.Name+".yaml"] = true
			sc, err := scenario.Open(filepath.Join("loads", l.Name+".yaml"))
			if err != nil {
				t.Error(err)
				continue
			}
			if v := sc.Variants; sc.Name != l.Name || sc.Mode != record.KindLoad || len(v) != 2 || v[0].Name != asIs || v[1].Name != changed || v[1].Change == "" {
				t.Errorf("%s: it must have %s and %s, which says what it changes", l.Name, asIs, changed)
			}
			if l.Truth == "" || l.Place == "" || len(l.Kinds) == 0 {
				t.Errorf("%s: what is the truth, and what would a right answer name?", l.Name)
			}
		}
	}
	if loads < 25 || len(all) < 15 || len(kinds) < 12 {
		t.Errorf("%d loads on %d programs of %d kinds; at least 25, 15 and 12 are promised", loads, len(all), len(kinds))
	}
	files, err := filepath.Glob("loads/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !used[filepath.Base(f)] {
			t.Errorf("%s: programs.yaml does not list it", f)
		}
	}
}

// Loads that are not run again stay in the file.
func TestKeep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "verdicts.json")
	for _, r := range []row{{Name: "b", Judged: wrong}, {Name: "a", Run: stored.Run{Modified: true}}, {Name: "b", Judged: right}} {
		if err := r.keep(file, map[string]any{"commit": "c"}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), `"name"`) != 2 || strings.Contains(string(text), wrong) || !strings.Contains(string(text), `"commit": "c"`) {
		t.Error(string(text))
	}
	if _, made, _ := strings.Cut(string(text), `"made"`); !strings.Contains(made, `"modified": true`) {
		t.Error("a row is of modified code:", made)
	}
}

// What others took, as a table says it, is the highest of all rows, and not known where that of a row is not.
func TestOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "verdicts.json")
	for _, c := range []struct {
		name   string
		others any
		want   string
	}{{"b", 0.1, `"others": 0.1,`}, {"a", 0.4, `"others": 0.4,`}, {"c", 0.2, `"others": 0.4,`}, {"d", nil, `"others": null,`}} {
		r := row{Name: c.name, Run: stored.RunOf(map[string]any{"others": c.others})}
		if err := r.keep(file, new(options).madeBy(r)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if _, made, _ := strings.Cut(string(text), `"made"`); err != nil || !strings.Contains(made, c.want) {
			t.Errorf("%v: %s, %v", c, made, err)
		}
	}
}

// The neighbour ends with what it was beside.
func TestBurn(t *testing.T) {
	defer goleak.VerifyNone(t)
	o := &options{dyno: "go", out: t.TempDir()}
	if err := o.dynoJSON(t.Context(), new(diagnosis), "x", true, "env"); err == nil {
		t.Error("go env printed a diagnosis")
	}
}

func TestCommandLine(t *testing.T) {
	for args, want := range map[string]string{
		"--repeats 0": "--repeats takes 1 to 100",
		"nosuch":      `no program and no load is called "nosuch"`,
		"--nosuch":    "unknown flag",
	} {
		if err := run(t.Context(), strings.Fields(args), new(bytes.Buffer)); !errors.As(err, new(command.Usage)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--help"}, &out); !errors.Is(err, pflag.ErrHelp) || !strings.Contains(out.String(), "--beside-burn") {
		t.Error(err, out.String())
	}
	if one, err := chosen([]string{"caddy-gzip"}); err != nil || len(one) != 1 || len(one[0].Loads) != 1 {
		t.Error(one, err)
	}
}
