package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// table returns the rows with the columns of secrets, an object a line; nil: none are needed.
func (c *conversion) table() []byte {
	if len(c.vault.values) > 0 && len(c.rows) == 0 {
		c.rows = []map[string]string{{}}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, row := range c.rows {
		for name, value := range c.vault.values {
			row[name] = value
		}
		enc.Encode(row) // a map of texts has a JSON form
	}
	return out.Bytes()
}

// remark adds notes about header fields and secrets.
func (c *conversion) remark() {
	if len(c.odd) > 0 {
		c.note("header fields that only browsers need were dropped: %s", strings.Join(c.odd, ", "))
	}
	if len(c.vault.values) > 0 {
		c.note("%s in %s, which only you can read: keep it out of version control", count(len(c.vault.values), "secret"), c.Rows)
	}
	if len(c.vault.left) > 0 {
		c.left = append(c.left, Omission{What: strings.Join(c.vault.left, ", "), Why: "it may be a secret; --secrets keeps it, in a file of its own that only you can read"})
	}
}

// most is the number of omissions that a scenario lists.
const most = 40

// comments returns the lines above the scenario: what was left out, and notes.
func (c *conversion) comments() []string {
	out := []string{"Made by dyno import from " + c.Source + "."}
	for _, n := range c.notes {
		out = append(out, "Note: "+n+".")
	}
	for i, o := range c.left {
		if i == most {
			out = append(out, fmt.Sprintf("Left out: %d more; dyno import lists them.", len(c.left)-most))
			break
		}
		out = append(out, "Left out: "+Text(o)+".")
	}
	return out
}

// Text describes an omission.
func Text(o Omission) string {
	if o.Line > 0 {
		return fmt.Sprintf("line %d: %s: %s", o.Line, o.What, o.Why)
	}
	return o.What + ": " + o.Why
}
