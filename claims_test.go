package dyno

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// What the source of each service claims is docs/results/claims.yaml. TestFigures writes and holds
// the table of a service as it does those of figures, between the marks
//
//	<!-- figures: claims SERVICE -->
//	<!-- end -->
//
// Verdicts are computed, and no row can have one of its own.

// claim is a row. It has exactly one of Figure, Command, Test, RefutedBy, Open and Untestable, or both a
// Figure and the Command that stores it: it is open as long as the figure is not there.
type claim struct {
	Number  int
	Claim   string // with the figure that the source gives
	Kind    string // ratio, absolute or function
	Claimed string // a number; ">1" or "<1" is a ratio that the source does not give

	Figure     *figure
	Command    string   // would measure it
	Steps      []string // of the command's scenario: those to look at, beside those of the figure
	Test       string   // FOLDER.TestName, which shows it
	RefutedBy  string   `yaml:"refuted_by"` // FOLDER.TestName, which shows the contrary
	Open       string   // why no command of today measures it
	Untestable string   // why it cannot be tested here
	Note       string
}

// readClaims reads the rows of each service.
func readClaims() (all map[string][]claim, err error) {
	text, err := os.ReadFile("docs/results/claims.yaml")
	if err != nil {
		return nil, err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	return all, d.Decode(&all)
}

func TestClaims(t *testing.T) {
	tests := testNames(t)
	all, err := readClaims()
	if err != nil {
		t.Fatalf("docs/results/claims.yaml: %v", err)
	}
	for _, service := range slices.Sorted(maps.Keys(all)) {
		for i, c := range all[service] {
			if err := errors.Join(c.check(i+1), c.checkNames(tests)); err != nil {
				t.Errorf("docs/results/claims.yaml: %s %d: %v", service, c.Number, err)
			}
			if *ages && c.Command+c.Open != "" && !c.stored() {
				fmt.Printf("open: %s %d  %s%s\n", service, c.Number, c.Command, c.Open)
			}
		}
	}
}

func (c claim) check(number int) error {
	ways := 0
	for _, there := range []bool{c.Figure != nil, c.Command != "", c.Test != "", c.RefutedBy != "", c.Open != "", c.Untestable != ""} {
		if there {
			ways++
		}
	}
	switch {
	case c.Number != number:
		return fmt.Errorf("its number should be %d: rows are in order, and none is left out", number)
	case c.Claim == "" || !slices.Contains([]string{"ratio", "absolute", "function"}, c.Kind):
		return fmt.Errorf("it needs a claim, and the kind ratio, absolute or function")
	case ways != 1 && (ways != 2 || c.Figure == nil || c.Command == ""):
		return fmt.Errorf("it has %d of figure, command, test, refuted_by, open and untestable; give one", ways)
	case (c.Test != "" || c.RefutedBy != "") && c.Kind != "function":
		return fmt.Errorf("a test shows a function, not a figure of the kind %s", c.Kind)
	case len(c.Steps) > 0 && c.Command == "":
		return fmt.Errorf("its steps are of no command")
	}
	return nil
}

var (
	commandPath = regexp.MustCompile(`(?:\./|\bscenarios/)[\w./-]+`)
	variant     = regexp.MustCompile(`--variant (\S+)`)
	run         = regexp.MustCompile(`-run (Test\w+)`)
	benchmarks  = regexp.MustCompile(`-bench '?([^/' ]+)[^' ]*'? .*?(\./[\w/-]+)`)
)

// steps are those of the command's scenario to look at: of a sweep by axes their values.
func (c claim) steps() []string {
	steps := slices.Clone(c.Steps)
	for _, step := range c.Figure.steps() {
		if strings.Contains(c.Command, " scenarios/") && !slices.Contains(steps, step) {
			steps = append(steps, step)
		}
	}
	return steps
}

// checkNames finds each test, file, folder, step and benchmark that the row names.
func (c claim) checkNames(tests map[string]bool) (err error) {
	names, steps := []string{c.Test, c.RefutedBy}, c.steps()
	if m := variant.FindStringSubmatch(c.Command); m != nil {
		steps = append(steps, m[1])
	}
	var scenario []byte
	for _, named := range commandPath.FindAllString(c.Command, -1) {
		_, missing := os.Stat(named)
		err = errors.Join(err, missing)
		if filepath.Ext(named) == ".yaml" {
			scenario, _ = os.ReadFile(named)
		} else if m := run.FindStringSubmatch(c.Command); m != nil {
			names = append(names, filepath.Base(named)+"."+m[1])
		}
	}
	for _, name := range names {
		if name != "" && !tests[name] {
			err = errors.Join(err, fmt.Errorf("there is no test %s", name))
		}
	}
	for _, step := range steps {
		if axis, _, swept := strings.Cut(step, "="); swept && bytes.Contains(scenario, []byte("name: "+axis+",")) {
			continue
		}
		if !regexp.MustCompile(`\bname: ` + regexp.QuoteMeta(step) + `(,|\s)`).Match(scenario) {
			err = errors.Join(err, fmt.Errorf("the scenario of %q has no step %s", c.Command, step))
		}
	}
	if m := benchmarks.FindStringSubmatch(c.Command); m != nil {
		files, _ := filepath.Glob(filepath.Join(m[2], "*_test.go"))
		for pattern := range strings.SplitSeq(m[1], "|") {
			there := slices.ContainsFunc(files, func(file string) bool {
				text, _ := os.ReadFile(file)
				return bytes.Contains(text, []byte("func Benchmark"+pattern))
			})
			if !there {
				err = errors.Join(err, fmt.Errorf("%s has no benchmark %s", m[2], pattern))
			}
		}
	}
	return err
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w*)\(t \*testing\.T\)`)

// testNames has FOLDER.TestName of every test of the repository.
func testNames(t *testing.T) map[string]bool {
	names := map[string]bool{}
	for _, file := range goFiles(t) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range testFunc.FindAllStringSubmatch(read(t, file), -1) {
			names[filepath.Base(filepath.Dir(file))+"."+m[1]] = true
		}
	}
	return names
}

// claimsTable returns the table of a service's claims.
func claimsTable(services []string) (string, error) {
	all, err := readClaims()
	if err != nil {
		return "", err
	}
	service := strings.Join(services, " ")
	if len(all[service]) == 0 {
		return "", fmt.Errorf("there are no claims of %q", service)
	}
	var out strings.Builder
	out.WriteString("| | claim | claimed | tested by | measured | verdict |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, c := range all[service] {
		by, measured, judged, err := c.judge()
		if err != nil {
			return "", fmt.Errorf("%s %d: %w", service, c.Number, err)
		}
		if c.Note != "" {
			judged += "; " + c.Note
		}
		claimed := c.Claimed
		if claimed == "" {
			claimed = "-"
		}
		fmt.Fprintf(&out, "| %d | %s | %s | %s | %s | %s |\n", c.Number, c.Claim, claimed, strings.ReplaceAll(by, "|", `\|`), measured, judged)
	}
	return out.String(), nil
}

// judge says how a claim is tested, what was measured, and its verdict.
func (c claim) judge() (by, measured, judged string, err error) {
	switch f := c.Figure; {
	case c.Test != "":
		return "`" + c.Test + "`", "-", "holds (function)", nil
	case c.RefutedBy != "":
		return "`" + c.RefutedBy + "`", "-", "does not hold (function)", nil
	case c.Untestable != "":
		return "-", "-", "not testable here: " + c.Untestable, nil
	case c.Open != "":
		return "-", "-", "open: " + c.Open, nil
	case c.Command != "" && !c.stored():
		by = "`" + c.Command + "`"
		for _, step := range c.steps() {
			by += " `" + step + "`"
		}
		return by, "-", "open", nil
	default:
		by = f.String()
		r, err := stored(f.File)
		if err != nil {
			return "", "", "", err
		}
		if slices.Contains(r.Made.Command, "--quick") {
			by += ", quick"
		}
		if r.Made.Others == nil || *r.Made.Others >= mostOthers {
			by += ", busy"
		}
		v, err := f.from(r)
		if err != nil {
			return "", "", "", err
		}
		if v.lo == v.hi && !slices.Contains(exact, f.Metric) {
			return by, digits(v.at), "not decided: no interval", nil
		}
		if judged, err = verdict(c.Kind, c.Claimed, v.lo, v.hi); v.lo == v.hi && agrees(c.Claimed, v.at) {
			judged = "holds"
		}
		return by, fmt.Sprintf("%s [%s, %s]", digits(v.at), digits(v.lo), digits(v.hi)), judged, err
	}
}

// agrees reports whether a figure is the one that is claimed, to the digits of the claim.
func agrees(claimed string, figure float64) bool {
	_, decimals, _ := strings.Cut(claimed, ".")
	return strconv.FormatFloat(figure, 'f', len(decimals), 64) == claimed
}

// verdict judges a claim by the interval of what was measured. A ratio whose interval contains 1 is
// not decided, also where it contains the claimed value: it does not even show a difference. It may
// show that there is less of one than claimed. Otherwise larger and smaller are beside what is
// claimed: of ratios the effect, of others the value.
func verdict(kind, claimed string, lo, hi float64) (string, error) {
	direction := claimed == ">1" || claimed == "<1"
	value, err := strconv.ParseFloat(strings.Trim(claimed, "<>"), 64)
	switch {
	case err != nil || value <= 0 || strings.ContainsAny(claimed, "<>") && (kind != "ratio" || !direction):
		return "", fmt.Errorf("claimed is %q; beside a figure it is a number above 0, or >1 or <1 for a ratio", claimed)
	case kind == "ratio" && value == 1 && !direction:
		return "", fmt.Errorf("no interval can show the ratio 1; claimed is another one, or a direction: >1 or <1")
	case kind == "function" || kind == "ratio" && lo <= 0 || lo > hi:
		return "", fmt.Errorf("an interval [%g, %g] cannot judge a claim of the kind %s", lo, hi, kind)
	case hi < 0: // and what is claimed is above 0
		return "does not hold", nil
	}
	if kind == "ratio" && (claimed == "<1" || value < 1) { // less is the effect
		lo, hi, value = 1/hi, 1/lo, 1/value
	}
	switch {
	case kind == "ratio" && lo <= 1 && 1 <= hi && hi < value:
		return "not decided; smaller than claimed", nil
	case kind == "ratio" && lo <= 1 && 1 <= hi:
		return "not decided", nil
	case kind == "ratio" && hi < 1:
		return "does not hold", nil
	case direction || lo <= value && value <= hi:
		return "holds", nil
	case lo > value:
		return "larger", nil
	}
	return "smaller", nil
}

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		kind, claimed string
		lo, hi        float64
		want          string // empty: an error
	}{
		{"ratio", "2", 1.5, 2.5, "holds"},
		{"ratio", "2", 2.1, 2.5, "larger"},
		{"ratio", "2", 1.1, 1.9, "smaller"},
		{"ratio", "2", 0.9, 1.2, "not decided; smaller than claimed"},
		{"ratio", "2", 0.9, 2.2, "not decided"},
		{"ratio", "2", 0.5, 0.9, "does not hold"},
		{"ratio", "0.5", 0.4, 0.6, "holds"},
		{"ratio", "0.5", 0.2, 0.4, "larger"},
		{"ratio", "0.5", 0.6, 0.9, "smaller"},
		{"ratio", "0.5", 0.8, 1.1, "not decided; smaller than claimed"},
		{"ratio", "0.5", 0.4, 1.1, "not decided"},
		{"ratio", "0.5", 1.1, 1.2, "does not hold"},
		{"ratio", ">1", 1.1, 1.2, "holds"},
		{"ratio", ">1", 0.9, 1.2, "not decided"},
		{"ratio", "<1", 1.1, 1.2, "does not hold"},
		{"ratio", "<1", 0.8, 0.9, "holds"},
		{"absolute", "100", 90, 110, "holds"},
		{"absolute", "100", 101, 110, "larger"},
		{"absolute", "100", 0.5, 99, "smaller"},
		{"absolute", "0.4", 0, 0.1, "smaller"},
		{"absolute", "0.4", -0.1, -0.05, "does not hold"},
		{"ratio", "1", 0.9, 1.1, ""},
		{"ratio", "", 0.9, 1.1, ""},
		{"ratio", ">2", 0.9, 1.1, ""},
		{"absolute", ">1", 0.9, 1.1, ""},
		{"function", "2", 0.9, 1.1, ""},
		{"ratio", "2", 0, 1.1, ""},
	} {
		got, err := verdict(tt.kind, tt.claimed, tt.lo, tt.hi)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%s %s, measured [%g, %g]: %q, %v; want %q", tt.kind, tt.claimed, tt.lo, tt.hi, got, err, tt.want)
		}
	}
}

// A row with a figure and the command that stores it is open until the file is there.
func TestClaimsAreOpenUntilStored(t *testing.T) {
	for file, open := range map[string]bool{"none": true, "chain": true, "decide-chain": false} { // chain has no such step
		c := claim{Number: 1, Claim: "c", Kind: "ratio", Claimed: ">1", Figure: &figure{File: file, Step: "statedb", Metric: "ratio_to_baseline"}, Command: "dyno run scenarios/chain.yaml"}
		_, _, judged, err := c.judge()
		if err = errors.Join(err, c.check(1)); err != nil || (judged == "open") != open {
			t.Errorf("%s: %q, %v", file, judged, err)
		}
	}
}

// What a row names and does not exist is named by the error.
func TestClaimsThatNameNothing(t *testing.T) {
	for want, c := range map[string]claim{
		"docs/results/none.json":            {Figure: &figure{File: "none", Step: "tuned", Metric: "work_per_s"}},
		`no step "none"`:                    {Figure: &figure{File: "decide-chain", Step: "none", Metric: "work_per_s"}},
		`no figure "none"`:                  {Figure: &figure{File: "decide-chain", Step: "tuned", Metric: "none"}},
		"scenarios/none.yaml":               {Command: "dyno run scenarios/none.yaml"},
		"has no step none":                  {Command: "dyno run scenarios/chain.yaml", Steps: []string{"none"}},
		"has no benchmark None":             {Command: "go test -run '^$' -bench 'Beat|None' ./bench/claims/heartbeat"},
		"no test dyno.TestNone":             {Test: "dyno.TestNone"},
		"no test ledger.TestNone":           {Command: "go test ./services/ledger -run TestNone -v"},
		"has no step gone":                  {Command: "dyno diagnose --variant gone scenarios/chain.yaml"},
		"its number should be 1":            {},
		"it has 2 of figure, command, test": {Number: 1, Claim: "c", Kind: "ratio", Test: "dyno.TestClaims", Open: "o"},
		"a test shows a function":           {Number: 1, Claim: "c", Kind: "ratio", Test: "dyno.TestClaims"},
	} {
		err := error(nil)
		if c.Figure != nil {
			_, _, _, err = c.judge()
		}
		err = errors.Join(err, c.checkNames(map[string]bool{"dyno.TestClaims": true}), c.check(1))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", c, err, want)
		}
	}
}
