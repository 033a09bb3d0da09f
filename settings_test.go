package dyno

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyno/parts/quicktest"
)

// A page has the table of a program's settings between two marks:
//
//	<!-- settings: PROGRAM -->
//	<!-- end -->
//
// with what PROGRAM assemblies --json says of them, which are the tags of its configs.
func TestSettings(t *testing.T) {
	if !*update {
		quicktest.Skip(t, "builds five commands")
	}
	var programs []string
	holdMarked(t, "settings", func(program string, _ []string) (string, error) {
		programs = append(programs, program)
		return settingsOf(program)
	})
	slices.Sort(programs)
	if want := []string{"arenad", "chaind", "ledgersync", "notifyd", "ordersd"}; !slices.Equal(programs, want) {
		t.Errorf("pages have tables of the settings of %v, want one each of %v", programs, want)
	}
}

// setting is one as a program prints it.
type setting struct {
	Name, Doc, Kind, Default, Min, Max string
	Values                             []string
}

// inCode are a setting's or seam's choice, and a setting's name, in the text of another.
var inCode = regexp.MustCompile(`\b[a-z]+(_[a-z]+)+\b|\b[a-z_]+=[a-z0-9]+\b`)

// settingsOf returns the table of a program's settings. A default is that of the tuned assembly,
// with which programs begin, and that of the baseline where it is another.
func settingsOf(program string) (string, error) {
	printed, err := exec.Command("go", "run", "dyno/services/...cmd/"+program, "assemblies", "--json").Output()
	if err != nil {
		return "", err
	}
	var a struct {
		Settings []setting
		Ladder   []struct{ Change map[string]string }
	}
	if err := json.Unmarshal(printed, &a); err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString("| setting | default | range | meaning |\n| --- | --- | --- | --- |\n")
	for _, s := range a.Settings {
		tuned := s.Default
		for _, step := range a.Ladder {
			if changed, ok := step.Change[s.Name]; ok {
				tuned = changed
			}
		}
		value := s.show(tuned)
		if tuned != s.Default {
			value += "; in `baseline` " + s.show(s.Default)
		}
		doc := strings.ReplaceAll(inCode.ReplaceAllString(s.Doc, "`$0`"), "|", `\|`)
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", s.Name, value, s.span(), doc)
	}
	return out.String(), nil
}

// span is what the setting takes.
func (s setting) span() string {
	switch {
	case len(s.Values) > 0:
		return strings.Join(s.Values, ", ")
	case s.Kind == "bool":
		return "true, false"
	case s.Min != "":
		return s.show(s.Min) + " to " + s.show(s.Max)
	}
	return s.Kind
}

// thousand is where a whole number has a comma.
var thousand = regexp.MustCompile(`^\d{4,}$`)

// show shows a value for readers: a number with commas between thousands, no text as a dash.
func (s setting) show(value string) string {
	if value == "" {
		return "-"
	}
	if s.Kind == "int" && thousand.MatchString(value) {
		for i := len(value) - 3; i > 0; i -= 3 {
			value = value[:i] + "," + value[i:]
		}
	}
	return value
}
