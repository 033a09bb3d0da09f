// Package redact removes secrets from what the lab writes: records, scenarios, command lines,
// messages.
//
// It is not for the output of the measured processes, which is kept as it is. The forms of secrets
// that services must hide as well are in parts/redact. It starts no goroutines.
package redact

import (
	"net/url"
	"regexp"

	"dyno/parts/redact"
)

// Mark replaces a secret.
const Mark = redact.Mark

// secrets match values that must not reach a file; the value is group 2.
var secrets = []*regexp.Regexp{
	// Authorization: Bearer x, X-Api-Key: x, Cookie: x (a header flag, a YAML line)
	regexp.MustCompile(`(?i)((?:(?:proxy-)?authorization|x-api-key|api[_-]?key|cookie|set-cookie)["']?\s*[:=]\s*["']?(?:(?:bearer|basic)\s+)?)([^\s"',][^"',\n]*)`),
	// a line of YAML: password: x, "secret": 'x y'
	regexp.MustCompile(`(?im)^(\s*(?:- )?["']?[\w.-]*` + redact.Names + `["']?[ \t]*:[ \t]+)("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'#{}\[\]|>&*][^\n]*)$`),
	// password: x, "secret":"x" in a line
	regexp.MustCompile(`(?i)([\w.-]*` + redact.Names + `(?:\\?["']?\s*:\s*\\?["']?))([^\s"',}\\]+)`),
	// Bearer x, where the field's name is not before it: {name: Authorization, value: Bearer x}
	regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)([a-z0-9._~+/-]*[0-9][a-z0-9._~+/-]*=*)`),
	// JSON Web Tokens anywhere in the text: a JSON object in base64url, a dot, and more base64url
	regexp.MustCompile(`\b(eyJ)([A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*)`),
	// Standard Webhooks secrets
	regexp.MustCompile(`(whsec_)([A-Za-z0-9+/=]+)`),
}

// Text replaces header values, tokens and passwords in text.
func Text(s string) string {
	for _, re := range secrets {
		s = re.ReplaceAllString(s, "${1}"+Mark)
	}
	return redact.Text(s)
}

// flagged matches a flag and the argument after it, in a list of YAML or in a line of a shell.
var flagged = regexp.MustCompile(`(?i)(["'\s,\[]--?[\w.-]*` + redact.Names + `["']?(?:\s*,\s*|\s*\n\s*-[ \t]+|[ \t]+))("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"',\]]+)`)

// Scenario replaces the same in a scenario's text, and the value of each command-line flag whose
// name marks a secret.
func Scenario(text string) string { return Text(flagged.ReplaceAllString(text, "${1}"+Mark)) }

// Args redacts a command line, including the word after a flag whose name marks a secret.
func Args(args []string) []string {
	out := redact.Args(args)
	for i := range out {
		out[i] = Text(out[i])
	}
	return out
}

// URL removes credentials from a URL.
func URL(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.User == nil {
		return Text(s)
	}
	u.User = nil
	return Text(u.String())
}
