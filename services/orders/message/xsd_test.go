package message

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// lexical are the checks by the names that testdata/lexical.tsv has for their types.
var lexical = map[string]func(string) string{"date": date, "dateTime": dateTime, "amount": decimal(5, false), "sum": decimal(17, true)}

// testdata/lexical.tsv has a type, a text, and whether it is valid: what most of libxml2, Xerces of
// the JDK and xmlschema of Python say. (libxml2 alone on years of 11 digits, for which the others
// have no room.)
func TestLexicalForms(t *testing.T) {
	table, err := os.ReadFile("testdata/lexical.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		text, err := strconv.Unquote(columns[1])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if why := lexical[columns[0]](text); (why == "") != (columns[2] == "true") {
			t.Errorf("%s %q: %q, but valid is %s", columns[0], text, why, columns[2])
		}
	}
}

// An amount is the same order however it is written.
func TestAmountForms(t *testing.T) {
	for _, text := range []string{"1.5", "+1.5", "01.50", " 1.50000000000000000000000\n", "0000000000000000000001.5"} {
		value, ok := canonicalDecimal(text)
		if qty, err := positive("x", value); !ok || err != nil || qty != 1_50000000 || decimal(5, false)(text) != "" {
			t.Errorf("%q: %v, %v", text, qty, err)
		}
	}
	for text, want := range map[string]string{".5": "0.5", "5.": "5", "-0.0": "0", "-01.10": "-1.1", "000": "0"} {
		if got, ok := canonicalDecimal(text); !ok || got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The grammars of the types, without the days of months and the facets.
var (
	dateForm     = regexp.MustCompile(`^-?([1-9][0-9]{3,}|0[0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])(Z|[+-]((0[0-9]|1[0-3]):[0-5][0-9]|14:00))?$`)
	dateTimeForm = regexp.MustCompile(`^-?([1-9][0-9]{3,}|0[0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T(([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?|24:00:00(\.0+)?)(Z|[+-]((0[0-9]|1[0-3]):[0-5][0-9]|14:00))?$`)
	decimalForm  = regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)$`)
)

// FuzzLexicalForms: what is accepted has the form of its type; what has it and is refused is so for
// a day that the month has not, the year 0, or a facet.
func FuzzLexicalForms(f *testing.F) {
	for _, seed := range []string{"2026-01-02", "-12024-02-29+14:00", "2026-01-02T24:00:00.000Z", " 2026-01-02T15:04:05.678-13:59\n", "+01.50", ".5", "-0", "1."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		trimmed := strings.Trim(text, xmlSpace)
		early := regexp.MustCompile(`^-?0000|-(02-29|02-30|02-31|0[469]-31|11-31)`).MatchString(trimmed)
		if ok := date(text) == ""; ok && !dateForm.MatchString(trimmed) || !ok && !early && dateForm.MatchString(trimmed) {
			t.Errorf("date %q: %v", text, ok)
		}
		if ok := dateTime(text) == ""; ok && !dateTimeForm.MatchString(trimmed) || !ok && !early && dateTimeForm.MatchString(trimmed) {
			t.Errorf("dateTime %q: %v", text, ok)
		}
		value, ok := canonicalDecimal(text)
		if ok != decimalForm.MatchString(trimmed) {
			t.Errorf("decimal %q: %v", text, ok)
		}
		if again, fine := canonicalDecimal(value); ok && (!fine || again != value) {
			t.Errorf("decimal %q: %q, then %q", text, value, again)
		}
	})
}
