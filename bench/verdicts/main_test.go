package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dyno/lab/record"
	"dyno/lab/scenario"

	"github.com/spf13/pflag"
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

func TestJudge(t *testing.T) {
	l := bound{Kinds: []string{"wait"}, place: regexp.MustCompile(`Sync`)}
	at := func(boundBy string, functions ...string) (d diagnosis) {
		d.BoundBy = boundBy
		for _, f := range functions {
			d.Where = append(d.Where, struct{ Function string }{f})
		}
		return d
	}
	for _, c := range []struct {
		said diagnosis
		want string
	}{
		{at("wait", "os.(*File).Sync"), right},
		{at("wait", "main.serve"), noUse},
		{at("cpu", "os.(*File).Sync"), wrong},
		{at("generator"), wrong},
		{at("unknown"), unknown},
		{at("environment"), unknown},
		{at(""), unknown},
	} {
		if got := l.judge(c.said); got != c.want {
			t.Errorf("%+v: %s, want %s", c.said, got, c.want)
		}
	}
}

// The worst of several diagnoses counts, and only those like the first are the same.
func TestRepeats(t *testing.T) {
	l := bound{Kinds: []string{"wait", "lock"}, place: regexp.MustCompile(``)}
	var r row
	for _, said := range []string{"wait", "wait", "cpu", "unknown", "wait"} {
		r.add(l, diagnosis{BoundBy: said, Kind: "disk", Confirmed: said == "wait"})
	}
	if r.Judged != wrong || r.BoundBy != "cpu (disk)" || r.Sure != "unconfirmed" || r.Same != 3 {
		t.Errorf("%+v", r)
	}
}

// A change that brings too little, or nothing for certain, proves nothing.
func TestUnproven(t *testing.T) {
	for _, c := range []struct {
		ratio, lo float64
		want      string
	}{{2, 1.5, right}, {1.1, 1.05, unproven}, {1.5, 0.9, unproven}} {
		var said comparison
		said.Steps = make([]struct{ Change string }, 2)
		said.Metric.Work.Ratio, said.Metric.Work.Interval = &c.ratio, &[2]float64{c.lo, 3}
		r := row{Judged: right}
		if err := r.compare(said); err != nil || r.Judged != c.want {
			t.Errorf("%v: %s, %v", c, r.Judged, err)
		}
	}
	if err := new(row).compare(comparison{Reason: "no turn"}); err == nil || !strings.Contains(err.Error(), "no turn") {
		t.Error(err)
	}
}

// Loads that are not run again stay in the file.
func TestKeep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "verdicts.json")
	for _, r := range []row{{Name: "b", Judged: wrong}, {Name: "a"}, {Name: "b", Judged: right}} {
		if err := keep(file, r, map[string]any{"commit": "c"}); err != nil {
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
}

func TestCommandLine(t *testing.T) {
	for args, want := range map[string]string{
		"--repeats 0": "--repeats takes 1 to 100",
		"nosuch":      `no program and no load is called "nosuch"`,
		"--nosuch":    "unknown flag",
	} {
		if err := run(t.Context(), strings.Fields(args), new(bytes.Buffer)); !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), want) {
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
