package daemon

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// PrintAssemblies prints seams, implementations, settings and the ladder as text or as a JSON
// object.
func (s Service) PrintAssemblies(w io.Writer, asJSON bool) error {
	if asJSON {
		return s.printJSON(w)
	}
	return s.printText(w)
}

// printJSON prints the contract's object. Keys may be added, never changed.
func (s Service) printJSON(w io.Writer) error {
	out := struct {
		Schema     string    `json:"schema"`
		Service    string    `json:"service"`
		Assemblies []string  `json:"assemblies"`
		Seams      []Seam    `json:"seams"`
		Settings   []Setting `json:"settings"`
		Ladder     []Step    `json:"ladder"`
	}{Schema: "dyno.assemblies/1", Service: s.Name, Assemblies: s.Assembly.Names(),
		Seams: append([]Seam{}, s.Assembly.Seams...), Settings: append([]Setting{}, s.Assembly.Settings...), Ladder: append([]Step{}, s.Assembly.Ladder...)}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}

func (s Service) printText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, seam := range s.Assembly.Seams {
		fmt.Fprintf(t, "seam %s: %s\n", seam.Name, seam.Doc)
		for _, i := range seam.Impls {
			fmt.Fprintf(t, "  %s\t%s\n", i.Name, i.Doc)
		}
		fmt.Fprintln(t)
	}
	if len(s.Assembly.Settings) > 0 {
		fmt.Fprintln(t, "settings:")
	}
	for _, set := range s.Assembly.Settings {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", set.Name, set.Default, set.span(), set.Doc)
	}
	fmt.Fprintf(t, "\nladder (%s is before the first step, %s after the last):\n", Baseline, Tuned)
	for _, step := range s.Assembly.Ladder {
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
