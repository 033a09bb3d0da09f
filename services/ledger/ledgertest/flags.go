package ledgertest

import (
	"path/filepath"
	"strings"
)

func refusesFlags(c *client) {
	url := c.world.honest.URL()
	for name, args := range map[string][]string{
		"no server":         c.span(first, last),
		"no range":          servers(url),
		"backwards":         append(servers(url), spanOnly(last, first)...),
		"ledger 0":          append(servers(url), spanOnly(0, last)...),
		"a short anchor":    append(servers(url), append(spanOnly(first, last), "--anchor", "AB")...),
		"no such flag":      append(servers(url), append(c.span(first, last), "--form", "1")...),
		"an argument":       append(servers(url), append(c.span(first, last), "more")...),
		"beyond all ranges": append(servers(url), "--from", "1", "--to", "4294967296"),
	} {
		_, said := c.run(2, append([]string{"sync", "--data", filepath.Join(c.dir, strings.ReplaceAll(name, " ", "-"))}, args...)...)
		c.expect(strings.TrimSpace(said) != "", "%s: it does not say what is wrong", name)
	}
}

func refusesUsedFolder(c *client) {
	r := NewRelay(c.t, c.world.honest.URL())
	p := c.interrupted(r)
	_, said := c.run(1, append(append([]string{"sync", "--data", c.dir}, servers(c.world.honest.URL())...), c.span(first, last)...)...)
	c.expect(strings.Contains(said, c.dir), "it does not say which folder is in use: %s", said)
	p.Stop()
	p.Wait(c.t)
	c.goesOn(r)
}

func refusesNoFolder(c *client) {
	for _, command := range []string{"check", "export"} {
		_, said := c.run(1, command, "--data", c.dir)
		c.expect(strings.Contains(said, c.dir), "%s does not say which folder is missing: %s", command, said)
	}
}
