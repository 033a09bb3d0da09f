package scenario

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/lab/workload"
)

// none is a lookup that knows no placeholder.
func none(string) (string, bool) { return "", false }

func TestSweep(t *testing.T) {
	const text = `
name: x
target: {build: ./x}
load: {kind: jobs, args: ["${rate}"]}
measure: {rates: [1]}
sweep:
  axes:
    - {name: queue, values: [channel, ring]}
    - {name: buffer, values: [0, 16, a/b $5]}
  args: [--queue, "${queue}:${buffer}", "$${queue}"]
  except:
    - {queue: ring, buffer: 0}
`
	s, err := Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, v := range s.Variants {
		names = append(names, v.Name)
	}
	want := []string{"queue=channel,buffer=0", "queue=channel,buffer=16", "queue=channel,buffer=a-b--5", "queue=ring,buffer=16", "queue=ring,buffer=a-b--5"}
	if !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	last, err := workload.Expand(s.Variants[4].Args[1], none)
	if err != nil || last != "ring:a/b $5" {
		t.Errorf("the last variant's argument is %q, %v", last, err)
	}
	if plain, _ := workload.Expand(s.Variants[4].Args[2], none); plain != "${queue}" {
		t.Errorf("an escaped axis became %q", plain)
	}
	if got := s.Variants[4].Values; got["queue"] != "ring" || got["buffer"] != "a/b $5" {
		t.Errorf("the last variant's values are %v", got)
	}
	if len(s.Variants[4].Args) != 3 {
		t.Errorf("arguments %q", s.Variants[4].Args)
	}
}

func TestScale(t *testing.T) {
	const text = `
name: x
target: {build: ./x}
load: {kind: jobs, args: ["${rate}", "${ramp_to}"]}
sweep:
  axes: [{name: workers, values: [1, 8]}]
  args: ["${workers}"]
measure: {per: workers, rates: [900], ramp: {from: 200, to: 1700, length: 8s}}
`
	s, err := Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if one, eight := s.Scale(s.Variants[0]), s.Scale(s.Variants[1]); one != 1 || eight != 8 {
		t.Errorf("scales %v and %v", one, eight)
	}
	if *s.Measure.Ramp != (Rise{From: 200, To: 1700, Length: 8 * time.Second}) {
		t.Errorf("ramp %+v", s.Measure.Ramp)
	}
	s.Measure.Per = ""
	if got := s.Scale(s.Variants[1]); got != 1 {
		t.Errorf("scale %v where rates are the variant's own", got)
	}
}

func TestSweepHasAnEnd(t *testing.T) {
	for name, text := range map[string]string{
		"arguments": `args: ["` + strings.Repeat("${a}", 1000) + `"]
  axes: [{name: a, values: [` + strings.Repeat("x", 4000) + `, y]}]`,
		"exceptions": `args: ["${a}${b}${c}${d}"]
  axes: [{name: a, values: ` + list(200) + `}, {name: b, values: ` + list(200) + `}, {name: c, values: ` + list(200) + `}, {name: d, values: [1, 2]}]
  except: [{d: 1}, {d: 2}]`,
	} {
		_, err := Parse("x.yaml", []byte("name: x\ntarget: {build: ./x}\nload: {kind: jobs, args: ['${rate}']}\nmeasure: {rates: [1]}\nsweep:\n  "+text))
		if err == nil || !strings.Contains(err.Error(), "more than") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// list writes a YAML list of n different numbers: 1, 11, 111 and so on.
func list(n int) string {
	var out []string
	for i := range n {
		out = append(out, strings.Repeat("1", i+1))
	}
	return "[" + strings.Join(out, ", ") + "]"
}
