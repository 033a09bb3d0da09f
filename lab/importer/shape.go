package importer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/workload"
)

// maxApart is the largest number of different requests that stay separate kinds. If there are
// more, those that differ only by identities in their URLs become one kind with rows.
const maxApart = 50

// merge joins equal items and adds their weights.
func merge(items []item) (out []item) {
	at := map[string]int{}
	for _, i := range items {
		if n, seen := at[i.key()]; seen {
			out[n].weight += i.weight
			out[n].count += i.count
			continue
		}
		at[i.key()] = len(out)
		out = append(out, i)
	}
	return out
}

// bodies puts the bodies of many requests that differ only by them into a corpus.
func (c *conversion) bodies(items []item) ([]item, []byte) {
	first := items[0]
	for _, i := range items {
		if i.method != first.method || i.path != first.path || !slices.Equal(i.header, first.header) || i.body == "" {
			return items, nil
		}
	}
	if len(items) <= maxApart || c.Bodies == "" {
		return items, nil
	}
	var out bytes.Buffer
	for _, r := range c.load.Requests { // each as often as it occurs, and unescaped, since a corpus has no templates
		body := r.Body
		if compact := new(bytes.Buffer); json.Compact(compact, []byte(body)) == nil {
			body = compact.String()
		}
		if strings.TrimSpace(body) == "" || strings.ContainsAny(body, "\r\n") {
			return items, nil
		}
		out.WriteString(body + "\n")
	}
	first.weight, first.body = 1, ""
	c.note("the bodies of %d requests are in %s and are sent in turn", len(c.load.Requests), c.Bodies)
	return []item{first}, out.Bytes()
}

// identity matches a part of a URL that names one thing among others of its kind: a number, a
// UUID, or hexadecimal digits.
var identity = regexp.MustCompile(`^(?:[0-9]+|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[0-9a-fA-F]*[0-9][0-9a-fA-F]*[a-fA-F][0-9a-fA-F]{6,})$`)

// collapse joins the items that differ only by identities in their URLs, and puts the identities
// into columns of the rows.
func (c *conversion) collapse(items []item) []item {
	if len(items) <= maxApart || c.Rows == "" {
		return items
	}
	type group struct {
		item
		parts  []string
		values [][]string
	}
	var groups []*group
	at := map[string]*group{}
	for _, i := range items {
		parts, values := cut(i.path)
		whole := i
		whole.path = strings.Join(parts, "\x00")
		g := at[whole.key()]
		if g == nil {
			g = &group{item: i, parts: parts}
			g.weight, g.count = 0, 0
			at[whole.key()] = g
			groups = append(groups, g)
		}
		g.weight += i.weight
		g.count++
		g.values = append(g.values, values)
	}
	longest := 0
	for _, g := range groups {
		if g.count > 1 {
			longest = max(longest, g.count)
		}
	}
	c.rows = make([]map[string]string, longest)
	for i := range c.rows {
		c.rows[i] = map[string]string{}
	}
	var out []item
	columns := 0
	for _, g := range groups {
		if g.count > 1 {
			path := g.parts[0]
			for p := range g.values[0] {
				columns++
				name := "v" + strconv.Itoa(columns)
				for i := range c.rows {
					c.rows[i][name] = g.values[i%len(g.values)][p]
				}
				path += "${row." + name + "}" + g.parts[p+1]
			}
			g.path = path
			c.note("%d URLs of one form are %s %s, with rows in %s", g.count, g.method, Address(path), c.Rows)
		}
		out = append(out, g.item)
	}
	return out
}

// cut splits a path with its query at its identities: there is one part more than values.
func cut(path string) (parts, values []string) {
	if strings.Contains(path, "$") { // a placeholder, or an escaped one
		return []string{path}, nil
	}
	from := 0
	for i := 0; i < len(path); {
		end := i + strings.IndexAny(path[i:]+"/", "/?&=")
		if word := path[i:end]; identity.MatchString(word) {
			if value, err := url.PathUnescape(word); err == nil {
				parts, values = append(parts, path[from:i]), append(values, value)
				from = end
			}
		}
		i = end + 1
	}
	return append(parts, path[min(from, len(path)):]), values
}

// limit keeps the maxClasses kinds of request with the largest weights.
func (c *conversion) limit(items []item) []item {
	if len(items) <= maxClasses {
		return items
	}
	order := slices.Clone(items)
	slices.SortStableFunc(order, func(a, b item) int { return cmp.Compare(b.weight, a.weight) })
	c.left = append(c.left, Omission{What: count(len(items)-maxClasses, "kind") + " of requests", Why: fmt.Sprintf("a scenario has at most %d; those with the greatest weights were taken", maxClasses)})
	return order[:maxClasses]
}

// requests turns the items into requests with unique names.
func requests(items []item) []workload.Request {
	var out []workload.Request
	seen := map[string]bool{}
	for _, i := range items {
		path, _, _ := strings.Cut(i.path, "?")
		base := slug(i.name)
		if base == "" {
			base = slug(i.method + strings.NewReplacer("${row.", "", "${", "", "}", "").Replace(path))
		}
		name := unused(cmp.Or(base, "request"), func(n string) bool { return seen[n] })
		seen[name] = true
		r := workload.Request{Name: name, Method: i.method, Path: i.path, Headers: texts(i.header), Body: workload.Body{Text: i.body}}
		if c := i.flow.Check; len(c.Status) > 0 {
			r.Check = &c
		}
		if i.weight != 1 && len(items) > 1 {
			r.Weight = min(i.weight, 1e6)
		}
		out = append(out, r)
	}
	return out
}

// unused returns base, or else base-2, base-3 and so on, of at most 64 characters: the first that
// is not in use.
func unused(base string, used func(name string) bool) string {
	const most = 64
	name := base[:min(len(base), most)]
	for n := 2; used(name); n++ {
		end := "-" + strconv.Itoa(n)
		name = base[:min(len(base), most-len(end))] + end
	}
	return name
}

// slug makes a name of letters, digits, - and _.
func slug(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, s)
	for strings.Contains(s, "--") {
		s = strings.ReplaceAll(s, "--", "-")
	}
	return strings.Trim(s, "-")
}
