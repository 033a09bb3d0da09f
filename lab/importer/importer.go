// Package importer turns loads of other tools into scenarios: a pasted curl command, a list of
// URLs, vegeta targets, a HAR file and an OpenAPI document. A reader of each form makes a Load,
// which Convert turns into a scenario. For a script of k6 or Locust, Script writes the scenario
// that starts that tool.
//
// It is not for running anything: it sends no request and executes no script. It starts no
// goroutines.
package importer

import (
	"fmt"
	"path/filepath"
	"strings"

	"dyno/lab/scenario/document"
)

// Form is a form of input.
type Form struct {
	Name string
	What string // for messages: "a HAR file"
	read func(text []byte, open Opener) (*Load, error)
}

// forms lists the forms of input.
var forms = []Form{
	{"curl", "a curl command", readCurl},
	{"har", "a HAR file", readHAR},
	{"k6", "a k6 script", nil},
	{"locust", "a Locust file", nil},
	{"openapi", "an OpenAPI 3 document", alone(readOpenAPI)},
	{"urls", "a list of URLs", alone(readURLs)},
	{"vegeta", "vegeta targets", readVegeta},
}

// Files returns an Opener of the files that an input of the form may name. The files of a HAR must
// be in its folder, since a program chose their names; in a command line the user chose them.
func (f Form) Files(folder string) Opener {
	if f.Name == "har" {
		return filesInside(folder)
	}
	return filesNextTo(folder)
}

// alone adapts a reader that opens no further file.
func alone(read func([]byte) (*Load, error)) func([]byte, Opener) (*Load, error) {
	return func(text []byte, _ Opener) (*Load, error) { return read(text) }
}

// IsScript reports whether the input is a program, which its own tool runs: the form has no
// reader, and Script makes the scenario.
func (f Form) IsScript() bool { return f.read == nil }

// Names lists the names of the forms.
func Names() (names []string) {
	for _, f := range forms {
		names = append(names, f.Name)
	}
	return names
}

// FormOf returns the form of a name or, if the name is empty, the form that a file's name and text
// suggest.
func FormOf(name, file string, text []byte) (Form, error) {
	if name == "" {
		name = guess(file, string(text[:min(len(text), 64<<10)]))
	}
	for _, f := range forms {
		if f.Name == name {
			return f, nil
		}
	}
	if name == "" {
		return Form{}, fmt.Errorf("what %s holds is not clear from its name and beginning; say it with --as, one of %s", file, strings.Join(Names(), ", "))
	}
	return Form{}, fmt.Errorf("no form of input is called %q; %s", name, document.DidYouMean(name, Names()))
}

// Read reads a text of the form; open reads further files that the text names.
func (f Form) Read(text []byte, open Opener) (*Load, error) {
	load, err := f.read(text, open)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.What, err)
	}
	return load, nil
}

// guess returns the name of the form that a file's name and beginning suggest; empty: none.
func guess(file, text string) string {
	start := strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	word, _, _ := strings.Cut(strings.TrimLeft(start, "$> "), " ")
	first, _, _ := strings.Cut(start, "\n")
	switch ext := strings.ToLower(filepath.Ext(file)); {
	case ext == ".har" || strings.HasPrefix(text, "PK\x03\x04"):
		return "har"
	case ext == ".py":
		return "locust"
	case ext == ".js" || ext == ".ts" || ext == ".mjs":
		return "k6"
	case word == "curl" || word == "curl.exe":
		return "curl"
	case strings.HasPrefix(start, "{") && strings.Contains(first, `"method"`) && strings.Contains(first, `"url"`):
		return "vegeta"
	case strings.HasPrefix(start, "{") && strings.Contains(text, `"openapi"`):
		return "openapi"
	case strings.HasPrefix(start, "{") && strings.Contains(text, `"log"`):
		return "har"
	case strings.HasPrefix(start, "openapi:") || strings.Contains(text, "\nopenapi:"):
		return "openapi"
	case strings.Contains(text, "from 'k6") || strings.Contains(text, `from "k6`) || strings.Contains(text, "require('k6"):
		return "k6"
	case strings.Contains(text, "import locust") || strings.Contains(text, "from locust"):
		return "locust"
	}
	return guessLines(start)
}

// guessLines guesses from the first line that is not a comment: a URL, or a method and a URL.
func guessLines(text string) string {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
			continue
		case strings.Contains(words[0], "://"):
			return "urls"
		case len(words) > 1 && words[0] == strings.ToUpper(words[0]) && strings.Contains(words[1], "://"):
			return "vegeta"
		}
		return ""
	}
	return ""
}
