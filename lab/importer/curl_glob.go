package importer

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// maxGlob bounds the number of URLs that one pattern stands for.
const maxGlob = 50_000

// globRun is a part of a pattern: texts, or the numbers or letters of a range.
type globRun struct {
	texts          []string
	from, to, step int
	width          int  // of a number with leading zeros
	letters        bool // the range is one of letters
}

func (r *globRun) size() int {
	if r.texts != nil {
		return len(r.texts)
	}
	return (r.to-r.from)/r.step + 1
}

func (r *globRun) at(i int) string {
	switch {
	case r.texts != nil:
		return r.texts[i]
	case r.letters:
		return string(rune(r.from + i*r.step))
	}
	return fmt.Sprintf("%0*d", r.width, r.from+i*r.step)
}

// glob returns the URLs that a pattern stands for, in curl's order (manual, URL): all combinations
// of the parts such as [1-3] and {a,b}, of which the last part changes fastest. An error names the
// position at which the pattern is wrong.
func glob(pattern string) ([]string, error) {
	runs, count, err := globRuns(pattern)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, count)
	at := make([]int, len(runs))
	for range count {
		var u strings.Builder
		for i := range runs {
			u.WriteString(runs[i].at(at[i]))
		}
		out = append(out, u.String())
		for i := len(runs) - 1; i >= 0; i-- {
			if at[i]++; at[i] < runs[i].size() {
				break
			}
			at[i] = 0
		}
	}
	return out, nil
}

// globRuns splits a pattern, and counts the URLs that it stands for.
func globRuns(pattern string) (runs []globRun, count int, err error) {
	count = 1
	var plain strings.Builder
	add := func(r globRun) error {
		if plain.Len() > 0 {
			runs = append(runs, globRun{texts: []string{plain.String()}})
			plain.Reset()
		}
		if r.size() > maxGlob/count {
			return fmt.Errorf("its pattern stands for more than %d URLs; narrow its ranges", maxGlob)
		}
		count *= r.size()
		runs = append(runs, r)
		return nil
	}
	for i := 0; i < len(pattern); {
		r, length, wrong := globRun{}, 0, ""
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern) && strings.IndexByte("[]{}", pattern[i+1]) >= 0:
			plain.WriteByte(pattern[i+1])
			i += 2
			continue
		case c == ']' || c == '}':
			return nil, 0, fmt.Errorf("position %d: a %c without its opening one; escape it as \\%c, or give -g", i+1, c, c)
		case c == '[' && globVerbatim(pattern[i:]) > 0:
			n := globVerbatim(pattern[i:])
			plain.WriteString(pattern[i : i+n])
			i += n
			continue
		case c == '[':
			r, length, wrong = globRange(globUnnamed(pattern[i+1:]))
		case c == '{':
			r, length, wrong = globSet(globUnnamed(pattern[i+1:]))
		default:
			plain.WriteByte(c)
			i++
			continue
		}
		if wrong != "" {
			return nil, 0, fmt.Errorf("position %d: %s; escape the bracket with \\, or give -g", i+1, wrong)
		}
		if err := add(r); err != nil {
			return nil, 0, err
		}
		i = len(pattern) - len(globUnnamed(pattern[i+1:])) + length
	}
	if plain.Len() > 0 || len(runs) == 0 {
		return append(runs, globRun{texts: []string{plain.String()}}), count, nil
	}
	return runs, count, nil
}

// globVerbatim returns the length of a [] or of an IPv6 address in brackets at the beginning of a
// text; 0: it begins with neither.
func globVerbatim(s string) int {
	inside, _, closed := strings.Cut(s[1:], "]")
	if !closed {
		return 0
	}
	address, _, _ := strings.Cut(inside, "%")
	if ip, err := netip.ParseAddr(address); inside == "" || err == nil && ip.Is6() {
		return len(inside) + 2
	}
	return 0
}

// globUnnamed removes the name that a part may begin with, as in [<page>1-3].
func globUnnamed(s string) string {
	if name, rest, ok := strings.Cut(s, ">"); ok && len(name) > 1 && name[0] == '<' && len(name) <= 65 {
		return rest
	}
	return s
}

// globSet reads the text after a {, up to its }.
func globSet(s string) (r globRun, length int, wrong string) {
	var now strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '}' && i == 0:
			return r, 0, "a set of nothing"
		case c == '}':
			r.texts = append(r.texts, now.String())
			return r, i + 1, ""
		case c == ',':
			r.texts = append(r.texts, now.String())
			now.Reset()
		case c == '{' || c == '[' || c == ']':
			return r, 0, "a bracket inside of a set"
		case c == '\\' && i+1 < len(s):
			i++
			now.WriteByte(s[i])
		default:
			now.WriteByte(c)
		}
	}
	return r, 0, "a set without its }"
}

// globRange reads the text after a [, up to its ]: 1-9, 001-100, 0-100:10, a-z or a-z:2.
func globRange(s string) (r globRun, length int, wrong string) {
	const form = "no range such as [1-3], [a-z] or [0-10:2]"
	inside, _, closed := strings.Cut(s, "]")
	from, to, ok := strings.Cut(inside, "-")
	if !closed || !ok {
		return r, 0, form
	}
	r.step = 1
	to, step, stepped := strings.Cut(to, ":")
	if stepped {
		n, ok := globNumber(step)
		if !ok || n == 0 {
			return r, 0, form
		}
		r.step = n
	}
	isLetter := func(s string) bool { return len(s) == 1 && (s[0]|0x20) >= 'a' && (s[0]|0x20) <= 'z' }
	var okFrom, okTo bool
	if isLetter(from) && len(to) == 1 {
		r.letters, r.from, r.to, okFrom, okTo = true, int(from[0]), int(to[0]), true, true
		okTo = r.to-r.from <= 'z'-'a'
	} else {
		r.from, okFrom = globNumber(from)
		r.to, okTo = globNumber(strings.TrimLeft(to, " \t"))
		if strings.HasPrefix(from, "0") {
			r.width = len(from)
		}
	}
	switch {
	case !okFrom || !okTo:
		return r, 0, form
	case r.from > r.to:
		return r, 0, "a range that ends before it begins"
	case r.from == r.to && r.step != 1, r.from < r.to && r.step > r.to-r.from:
		return r, 0, "a range whose step is longer than itself"
	}
	return r, len(inside) + 1, ""
}

func globNumber(s string) (int, bool) {
	const most = 18 // digits that an int has
	if s == "" || len(s) > most || strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}
