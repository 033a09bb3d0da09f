// Package redact hides secrets in text that is shown, logged or recorded: the password of a URL or
// of a DSN, a token in a query, the value of a command line's flag.
//
// It is not for values that a program goes on to use, and no proof that a text has no secret: it
// knows forms and names. It starts no goroutines.
package redact

import (
	"regexp"
	"strings"
)

// Mark stands in place of a secret.
const Mark = "***"

// Names is a regular expression of the ends of names whose values are secrets.
const Names = `(?:token|passw(?:or)?d|passphrase|pwd|secret|(?:api|auth|access|account|private|signing|session|master|encryption|jwt|license)[-_.]?keys?)`

var (
	// userinfo matches the authority of a URL up to its last @ (RFC 3986, section 3.2.1).
	userinfo = regexp.MustCompile(`://[^/?#\s"\\<>]*@`)
	// unescaped matches a user and a password with characters that had to be percent-encoded: a URL
	// that no parser accepts, and that errors of parsers repeat.
	unescaped = regexp.MustCompile(`://[^/?#\s:@"\\<>]+:[^\s"\\<>]*@`)
	// spaced is the same of a URL in quotes, or at the beginning, whose password has spaces.
	spaced = regexp.MustCompile(`(?:^|")[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s:@"\\<>]+:[^"\n]*@`)
	// dsn matches user and password of a DSN of MySQL: user:password@tcp(host:port)/db.
	dsn = regexp.MustCompile(`([^\s"'<>:/@=]+):[^\s"'<>]+@([a-z0-9+]+\()`)
	// parameter matches a parameter of a query or of a form.
	parameter = regexp.MustCompile(`(?i)([?&](?:[\w.-]*` + Names + `|key|sig|signature|auth|jwt|code)=)[^&#\s"'<>]+`)
	// assigned matches NAME=VALUE, as in a DSN of PostgreSQL, an environment variable or a flag.
	assigned = regexp.MustCompile(`(?i)(\b[\w.-]*` + Names + `\s?=\s?)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s"'&]+)`)
	named    = regexp.MustCompile(`(?i)(?:^|[\w.-])` + Names + `$`)
	// flag matches a flag whose next argument is a secret, login one whose next is USER:PASSWORD.
	flag  = regexp.MustCompile(`(?i)^--?[\w.-]*(?:` + Names + `|bearer|requirepass|masterauth)$`)
	login = regexp.MustCompile(`^(?:-u|--user|--proxy-user)$`)
	// header matches a header field that is one argument, so its value ends with the argument.
	header = regexp.MustCompile(`(?is)^((?:-H|--header=)?\s*[a-z0-9_-]*(?:auth|cookie|key|token|secret|password|session|signature)[a-z0-9_-]*\s*:\s*).*$`)
)

// Text hides the secrets of URLs, DSNs and assignments in a text: nats://user:***@host.
func Text(s string) string {
	if strings.Contains(s, "@") {
		s = userinfo.ReplaceAllStringFunc(s, hideUser)
		s = unescaped.ReplaceAllStringFunc(s, hideUnescaped)
		s = spaced.ReplaceAllStringFunc(s, hideUnescaped)
		s = dsn.ReplaceAllString(s, "${1}:"+Mark+"@${2}")
	}
	if strings.Contains(s, "=") {
		s = parameter.ReplaceAllString(s, "${1}"+Mark)
		s = assigned.ReplaceAllString(s, "${1}"+Mark)
	}
	return s
}

// Setting hides the secrets of a setting's value: all of it where the name is that of a secret.
func Setting(name, value string) string {
	if value != "" && named.MatchString(name) {
		return Mark
	}
	return Text(value)
}

// hideUser keeps a user that has a password. One without may be a token, as with NATS and with
// many HTTP services.
func hideUser(found string) string {
	user, password, _ := strings.Cut(found[len("://"):len(found)-len("@")], ":")
	if password == "" {
		return "://" + Mark + "@"
	}
	return "://" + user + ":" + Mark + "@"
}

func hideUnescaped(found string) string {
	scheme, rest, _ := strings.Cut(found, "://")
	user, rest, _ := strings.Cut(rest, ":")
	port, _, path := strings.Cut(strings.NewReplacer("?", "/", "#", "/").Replace(rest), "/")
	switch {
	case strings.Contains(rest, "://"), path && strings.Trim(port, "0123456789") == "": // a later URL, or a port
		return found
	}
	return scheme + "://" + user + ":" + Mark + "@"
}

// Args hides the secrets of a command line, with those that follow a flag as an argument of their
// own.
func Args(args []string) []string {
	out := make([]string, len(args))
	before := ""
	for i, a := range args {
		user, _, both := strings.Cut(a, ":")
		name, _, assigned := strings.Cut(a, "=")
		switch {
		case flag.MatchString(before):
			out[i] = Mark
		case login.MatchString(before) && both:
			out[i] = user + ":" + Mark
		case assigned && flag.MatchString(name):
			out[i] = name + "=" + Mark
		case header.MatchString(a):
			out[i] = header.ReplaceAllString(a, "${1}"+Mark)
		default:
			out[i] = Text(a)
		}
		before = out[i]
	}
	return out
}
