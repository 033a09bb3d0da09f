package assembly

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Print prints a service's seams, implementations, settings and ladder as text, or as the JSON
// object of the contract. Keys may be added to that, never changed.
func (p Parts) Print(w io.Writer, service string, asJSON bool) error {
	if !asJSON {
		return p.printText(w)
	}
	out := struct {
		Schema     string    `json:"schema"`
		Service    string    `json:"service"`
		Assemblies []string  `json:"assemblies"`
		Seams      []Seam    `json:"seams"`
		Settings   []Setting `json:"settings"`
		Ladder     []Step    `json:"ladder"`
	}{Schema: "dyno.assemblies/1", Service: service, Assemblies: p.Names(),
		Seams: append([]Seam{}, p.Seams...), Settings: append([]Setting{}, p.Settings...), Ladder: append([]Step{}, p.Ladder...)}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}

func (p Parts) printText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, seam := range p.Seams {
		fmt.Fprintf(t, "seam %s: %s\n", seam.Name, seam.Doc)
		for _, i := range seam.Impls {
			fmt.Fprintf(t, "  %s\t%s\n", i.Name, i.Doc)
		}
		fmt.Fprintln(t)
	}
	if len(p.Settings) > 0 {
		fmt.Fprintln(t, "settings:")
	}
	for _, set := range p.Settings {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", set.Name, set.Default, set.span(), set.Doc)
	}
	fmt.Fprintf(t, "\nladder (%s is before the first step, %s after the last):\n", Baseline, Tuned)
	for _, step := range p.Ladder {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", step.Name, strings.Join(pairs(step.Change), " "), step.Why)
	}
	return t.Flush()
}

// span says in short what a setting takes.
func (s Setting) span() string {
	switch {
	case len(s.Values) > 0:
		return strings.Join(s.Values, "|")
	case s.Min != "":
		return s.Min + ".." + s.Max
	}
	return s.Kind
}

func pairs(m map[string]string) []string {
	var out []string
	for k, v := range m {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}
