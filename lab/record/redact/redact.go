// Package redact removes secrets from what the lab writes: header values, tokens, passwords.
//
// It is not for the output of the measured processes, which is kept as it is. It starts no
// goroutines.
package redact

import (
	"net/url"
	"regexp"
)

// Mark replaces a secret.
const Mark = "[redacted]"

// secrets match values that must not reach a file; the value is group 2.
var secrets = []*regexp.Regexp{
	// Authorization: Bearer x, X-Api-Key: x, Cookie: x (a header flag, a YAML line)
	regexp.MustCompile(`(?i)((?:proxy-)?authorization|x-api-key|api[_-]?key|cookie|set-cookie)(["']?\s*[:=]\s*["']?(?:(?:bearer|basic)\s+)?)([^\s"',][^"',\n]*)`),
	// --token=x, password: x, secret=x
	regexp.MustCompile(`(?i)((?:[a-z_-]*(?:token|password|passwd|secret)))(["']?\s*[:=]\s*["']?)([^\s"',]+)`),
	// scheme://user:password@host
	regexp.MustCompile(`([a-z][a-z0-9+.-]*://[^/\s:@]*)(:)([^/\s@]+)@`),
	// JSON Web Tokens anywhere in the text: a JSON object in base64url, a dot, and more base64url
	regexp.MustCompile(`\b(ey)(J)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*`),
	// Standard Webhooks secrets
	regexp.MustCompile(`(whsec)(_)([A-Za-z0-9+/=]+)`),
}

// Text replaces header values, tokens and passwords in text.
func Text(s string) string {
	for i, re := range secrets {
		tail := ""
		if i == 2 {
			tail = "@"
		}
		s = re.ReplaceAllString(s, "${1}${2}"+Mark+tail)
	}
	return s
}

// Args redacts a command line, including the word after a flag whose name marks a secret.
func Args(args []string) []string {
	out := make([]string, len(args))
	hide := false
	for i, a := range args {
		switch {
		case hide:
			out[i], hide = Mark, false
		case secretFlag.MatchString(a):
			out[i], hide = a, true
		case secretHeader.MatchString(a):
			out[i] = secretHeader.ReplaceAllString(a, "${1}"+Mark)
		default:
			out[i] = Text(a)
		}
	}
	return out
}

var secretFlag = regexp.MustCompile(`(?i)^--?[a-z-]*(token|password|passwd|secret|api-key)$`)

// secretHeader matches a header that is one argument, so its value ends with the argument: Digest
// and AWS4 credentials contain commas and quotes.
var secretHeader = regexp.MustCompile(`(?is)^((?:-H|--header=)?\s*[a-z0-9_-]*(?:auth|cookie|key|token|secret|password|session|signature)[a-z0-9_-]*\s*:\s*).*$`)

// URL removes credentials from a URL.
func URL(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.User == nil {
		return Text(s)
	}
	u.User = nil
	return Text(u.String())
}
