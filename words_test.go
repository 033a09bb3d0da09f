package dyno

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"unicode/utf8"
)

// phrases must not occur in comments, string literals, documentation and scenarios: they hide the
// actor or the quantity of a sentence, or replace a standard term.
var phrases = []struct{ pattern, instead string }{
	{`nobody|somebody|whoever|whom`, "name the actor: caller, worker, server, client, process"},
	{`(is|are|was|were|be|been|being) told|tells?`, "receives, is passed; returns, reports"},
	{`at once`, "concurrently or immediately"},
	{`so (many|much|long|often)`, "name the quantity"},
	{`(is|are|was|were) to (be|have|come|go|do|say|get|take|make|hold|keep|run|wait)`, "must, should or will"},
	{`comes? to nothing`, "fails"},
	{`lets go`, "releases"},
	{`mend(s|ed|ing)?`, "fix"},
	{`parted by`, "separated by"},
	{`by itself`, "on its own, alone or spontaneously"},
}

// maxComment is the maximum length of a comment line, in characters. The indentation counts, code
// before the comment does not.
const maxComment = 100

// unconverted lists the folders that have not been reworded yet: each alone, or with /... also
// those in it. The list only shrinks: a folder without findings must be removed from it.
var unconverted = []string{}

// Comments, texts and documentation are in plain English, and lines of comments are short.
func TestPlainEnglish(t *testing.T) {
	words := newWording()
	findings := map[string][]string{}
	for _, file := range textFiles(t) {
		dir := filepath.ToSlash(filepath.Dir(file))
		findings[dir] = append(findings[dir], words.check(t, file)...)
	}
	for _, row := range unconverted {
		found := 0
		for dir := range findings {
			if above, all := strings.CutSuffix(row, "/..."); dir == above || all && strings.HasPrefix(dir, above+"/") {
				found += len(findings[dir])
				delete(findings, dir)
			}
		}
		if found == 0 {
			t.Errorf("%s has no findings any more: remove it from unconverted in words_test.go", row)
		}
	}
	for _, found := range findings {
		for _, f := range found {
			t.Error(f)
		}
	}
}

// textFiles lists the Go files except this one, the documentation and the scenarios.
func textFiles(t *testing.T) []string {
	t.Helper()
	files := slices.DeleteFunc(goFiles(t), func(f string) bool { return f == "words_test.go" })
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "dyno-out" || strings.HasPrefix(d.Name(), ".") && p != "."):
			return filepath.SkipDir
		case filepath.Ext(p) == ".md", filepath.Ext(p) == ".yaml" && strings.HasPrefix(filepath.ToSlash(p), "scenarios/"):
			files = append(files, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// jsonKey is the part of a struct tag that is a published name.
var jsonKey = regexp.MustCompile(`json:"[^"]*"`)

// wording finds phrases: all in one pass, and each for the advice.
type wording struct {
	all  *regexp.Regexp
	each []*regexp.Regexp
}

func newWording() (w wording) {
	var patterns []string
	for _, p := range phrases {
		pattern := strings.ReplaceAll(p.pattern, " ", `\s+`)
		patterns = append(patterns, pattern)
		w.each = append(w.each, regexp.MustCompile(`(?i)^(`+pattern+`)$`))
	}
	w.all = regexp.MustCompile(`(?i)\b(` + strings.Join(patterns, "|") + `)\b`)
	return w
}

// find reports the phrases in a text. line returns the line of an offset.
func (w wording) find(file, text string, line func(offset int) int) (found []string) {
	for _, at := range w.all.FindAllStringIndex(text, -1) {
		phrase := text[at[0]:at[1]]
		if phrase[1:] != strings.ToLower(phrase[1:]) {
			continue // an identifier such as http.NoBody
		}
		i := slices.IndexFunc(w.each, func(p *regexp.Regexp) bool { return p.MatchString(phrase) })
		found = append(found, fmt.Sprintf("%s:%d: %q: %s", file, line(at[0]), phrase, phrases[i].instead))
	}
	return found
}

// check returns the findings of a file.
func (w wording) check(t *testing.T, file string) (found []string) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(file) == ".go" {
		return w.checkGo(t, file, source)
	}
	text := string(source)
	found = w.find(file, text, func(offset int) int { return 1 + strings.Count(text[:offset], "\n") })
	if filepath.Ext(file) == ".yaml" {
		for i, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "#") && tooLong(line) {
				found = append(found, fmt.Sprintf("%s:%d: the comment line is longer than %d characters", file, i+1, maxComment))
			}
		}
	}
	return found
}

func (w wording) checkGo(t *testing.T, file string, source []byte) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if ast.IsGenerated(parsed) {
		return nil
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			at := files.Position(literal.Pos())
			text := jsonKey.ReplaceAllString(literal.Value, "")
			found = append(found, w.find(file, text, func(offset int) int { return at.Line + strings.Count(text[:offset], "\n") })...)
		}
		return true
	})
	for _, group := range parsed.Comments {
		var text bytes.Buffer
		var starts []int // offset of each comment in text
		for _, c := range group.List {
			starts = append(starts, text.Len())
			text.WriteString(strings.TrimPrefix(c.Text, "//") + "\n")
			at := files.Position(c.Pos())
			line := c.Text
			if before := source[at.Offset-at.Column+1 : at.Offset]; len(bytes.TrimSpace(before)) == 0 {
				line = string(before) + line
			}
			if tooLong(line) {
				found = append(found, fmt.Sprintf("%s:%d: the comment line is longer than %d characters", file, at.Line, maxComment))
			}
		}
		found = append(found, w.find(file, text.String(), func(offset int) int {
			return files.Position(group.List[sort.SearchInts(starts, offset+1)-1].Pos()).Line
		})...)
	}
	return found
}

// tooLong reports whether a comment line is too long. A URL or a long identifier may exceed the
// limit, since it cannot be wrapped.
func tooLong(line string) bool {
	if utf8.RuneCountInString(line) <= maxComment {
		return false
	}
	return !slices.ContainsFunc(strings.Fields(line), func(word string) bool { return strings.Contains(word, "://") || len(word) > 40 })
}

// The phrases are found at line breaks and the start of a sentence, and not inside of identifiers.
func TestPlainEnglishFinds(t *testing.T) {
	words := newWording()
	for text, want := range map[string]int{
		"Nobody waits":                  1,
		"two of them run at\n\tonce":    1,
		"it is told so":                 1,
		"http.NoBody, and tellAll":      0,
		"as long as it is passed a key": 0,
		"it is to be fixed":             1,
	} {
		if found := words.find("file", text, func(int) int { return 1 }); len(found) != want {
			t.Errorf("%q: %d findings, want %d: %v", text, len(found), want, found)
		}
	}
	long := "// " + strings.Repeat("word ", 20)
	if !tooLong(long) || tooLong(long+"https://example.com/page") || tooLong("// short") {
		t.Error("lines are measured wrongly")
	}
}
