package programs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	nodePort   = regexp.MustCompile(`process\.env\.PORT(?:\s*(?:\|\||\?\?)\s*["']?([0-9]{2,5}))?`)
	assignment = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*=[^"'$]*$`)
	nodeRoute  = regexp.MustCompile(`\b(?:app|router|server|fastify)\.(get|post|put|patch|delete)\(\s*["'](/[^"']*)["']\s*,`)
	nodeLocal  = regexp.MustCompile(`\.listen\(\s*([0-9]{2,5})\b`)
)

// node finds the program of a package.json: its start script, else its main file.
func node(folder string) (p Program, ok bool, err error) {
	b, err := readFile(filepath.Join(folder, "package.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return p, false, nil
	}
	var pack struct {
		Main    string            `json:"main"`
		Scripts map[string]string `json:"scripts"`
	}
	if err == nil {
		err = json.Unmarshal(b, &pack)
	}
	if err != nil {
		return p, false, fmt.Errorf("reading package.json: %w", err)
	}
	start := strings.Fields(pack.Scripts["start"])
	var own [][2]string // variables that the start script sets
	for len(start) > 0 && assignment.MatchString(start[0]) {
		name, value, _ := strings.Cut(start[0], "=")
		own, start = append(own, [2]string{name, value}), start[1:]
	}
	switch {
	case len(start) > 0 && start[0] == "node" && !strings.ContainsAny(pack.Scripts["start"], "&|;<>$\"'`"):
		p.Command, p.Env = start, own // without npm between, so that signals and CPU time are the program's
	case len(start) > 0:
		p.Command = []string{"npm", "start", "--silent"}
	case pack.Main != "":
		p.Command = []string{"node", pack.Main}
	default:
		return p, false, nil
	}
	p.Address = "127.0.0.1:3000"
	p.Found = []string{"package.json says how it starts"}
	for _, name := range append(start[:len(start):len(start)], pack.Main) {
		code, err := readFile(filepath.Join(folder, name))
		if err != nil || !strings.HasSuffix(name, "js") {
			continue
		}
		for _, at := range nodeRoute.FindAllSubmatchIndex(code, -1) {
			line := 1 + strings.Count(string(code[:at[4]]), "\n")
			p.Routes = append(p.Routes, Route{strings.ToUpper(string(code[at[2]:at[3]])), string(code[at[4]:at[5]]), name, line})
		}
		p.Routes = unique(p.Routes)
		if m := nodePort.FindSubmatch(code); m != nil {
			if local, ok := loopback(":" + string(m[1])); ok {
				p.Address = local
			}
			p.Env = append(p.Env, [2]string{"PORT", p.Address[strings.LastIndexByte(p.Address, ':')+1:]})
			break
		}
		if m := nodeLocal.FindSubmatch(code); m != nil {
			if local, ok := loopback(":" + string(m[1])); ok {
				p.Address = local
			}
			break
		}
	}
	return p, true, nil
}
