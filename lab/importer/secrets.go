package importer

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"dyno/lab/record/redact"
	"dyno/lab/workload"
)

var (
	// secretField matches header fields whose values are secrets.
	secretField = regexp.MustCompile(`(?i)^(x-|proxy-)?auth|authorization|cookie|token|secret|passw|session|signature|credential|api-?key|access-?key|private-?key`)
	// secretParameter matches parameters of a query.
	secretParameter = regexp.MustCompile(`(?i)token|secret|passw|signature|^sig$|^auth|session|credential|api[-_]?key|access[-_]?key|^key$|jwt`)
	// secretInBody matches a body that seems to hold a secret, in a field of JSON or of a form.
	secretInBody = regexp.MustCompile(`(?i)(^|[&"'\s])[\w-]*(passw(or)?d|passphrase|secret|token|api_?key)[\w-]*["']?\s*[:=]`)
	// savedInBody matches a field whose value is a mark of a saved one.
	savedInBody = regexp.MustCompile(`[\w-]+["']?\s*[:=]\s*["']?__saved\.`)
)

// secret reports whether a header field's value must not get into a scenario.
func secret(f Field) bool {
	if strings.HasSuffix(f.Value, replaceMe) || marked(f.Value) {
		return false
	}
	return secretField.MatchString(f.Name) || redact.Text(f.Value) != f.Value
}

// vault keeps the secrets of a load: it replaces each by a column of the rows, or leaves it out.
type vault struct {
	keep   bool
	values map[string]string // column -> secret
	left   []string          // names of the secrets that were left out, each once
}

// put stores a secret and returns the template in its place; empty: it is left out.
func (v *vault) put(name, value string) string {
	if !v.keep {
		if !slices.ContainsFunc(v.left, func(n string) bool { return strings.EqualFold(n, name) }) {
			v.left = append(v.left, name)
		}
		return ""
	}
	name = unused(column(strings.TrimPrefix(name, "?")), func(n string) bool { have, used := v.values[n]; return used && have != value })
	v.values[name] = value
	return "${row." + name + "}"
}

// column makes a name for a column: letters, digits and _.
func column(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, name)
}

// query replaces the secret parameters of a query, and returns it as a template.
func (v *vault) query(raw string) string {
	if raw == "" {
		return ""
	}
	var out []string
	for _, pair := range strings.Split(raw, "&") {
		name, value, _ := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(name)
		if err != nil {
			plain = name
		}
		if value == "" || value == replaceMe || marked(value) || !secretParameter.MatchString(plain) && redact.Text(pair) == pair {
			out = append(out, workload.Literal(pair))
			continue
		}
		if unescaped, err := url.QueryUnescape(value); err == nil {
			value = unescaped
		}
		if in := v.put("?"+plain, value); in != "" {
			out = append(out, workload.Literal(name)+"="+in)
		}
	}
	return strings.Join(out, "&")
}
