package dyno

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// assembled is what a program prints of what it can be made of.
type assembled struct {
	Assemblies []string
	Seams      []struct {
		Name            string
		Implementations []struct{ Name string }
	}
	Settings []setting
	Ladder   []struct{ Change map[string]string }
}

func assembledOf(program string) (a assembled, err error) {
	printed, err := exec.Command("go", "run", "dyno/services/...cmd/"+program, "assemblies", "--json").Output()
	if err == nil {
		err = json.Unmarshal(printed, &a)
	}
	return a, err
}

var (
	chosen = regexp.MustCompile(`--set[, ]+"?([a-z_]+)=([^],"]*)`)
	named  = regexp.MustCompile(`--assembly[, ]+"?([a-z0-9-]+)`)
)

// Scenarios name only assemblies, seams and settings that their program has.
func TestScenariosNameWhatThereIs(t *testing.T) {
	quicktest.Skip(t, "builds five commands")
	for prefix, program := range map[string]string{"arena": "arenad", "chain": "chaind", "ledger": "ledgersync", "notify": "notifyd", "orders": "ordersd"} {
		a, err := assembledOf(program)
		if err != nil {
			t.Fatalf("%s: %v", program, err)
		}
		values := map[string][]string{"max_connections": nil} // PostgreSQL's
		for _, s := range a.Settings {
			values[s.Name] = nil
		}
		for _, s := range a.Seams {
			for _, i := range s.Implementations {
				values[s.Name] = append(values[s.Name], i.Name)
			}
		}
		files, err := filepath.Glob("scenarios/" + prefix + "*.yaml")
		beside, err2 := filepath.Glob("scenarios/peers/" + prefix + "*.yaml")
		if err != nil || err2 != nil || len(files) == 0 {
			t.Fatalf("%d scenarios of %s: %v, %v", len(files), program, err, err2)
		}
		for _, file := range append(files, beside...) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range named.FindAllStringSubmatch(string(text), -1) {
				if !slices.Contains(a.Assemblies, m[1]) {
					t.Errorf("%s: %s has no assembly %s", file, program, m[1])
				}
			}
			for _, m := range chosen.FindAllStringSubmatch(string(text), -1) {
				if of, there := values[m[1]]; !there || len(of) > 0 && !slices.Contains(of, m[2]) {
					t.Errorf("%s: %s has no %s=%s", file, program, m[1], m[2])
				}
			}
		}
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
	a, err := assembledOf(program)
	if err != nil {
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
