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
	nodePort  = regexp.MustCompile(`process\.env\.PORT(?:\s*(?:\|\||\?\?)\s*["']?([0-9]{2,5}))?`)
	nodeLocal = regexp.MustCompile(`\.listen\(\s*([0-9]{2,5})\b`)
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
	switch {
	case len(start) > 0 && start[0] == "node" && !strings.ContainsAny(pack.Scripts["start"], "&|;<>$\"'`"):
		p.Command = start // without npm between, so that signals and CPU time are the program's
	case len(start) > 0:
		p.Command = []string{"npm", "start", "--silent"}
	case pack.Main != "":
		p.Command = []string{"node", pack.Main}
	default:
		return p, false, nil
	}
	p.Address = "127.0.0.1:3000"
	p.Found = []string{"package.json says how it starts; its paths are not read"}
	for _, name := range append(p.Command[1:], pack.Main) {
		code, err := readFile(filepath.Join(folder, name))
		if err != nil || !strings.HasSuffix(name, "js") {
			continue
		}
		if m := nodePort.FindSubmatch(code); m != nil {
			if local, ok := loopback(":" + string(m[1])); ok {
				p.Address = local
			}
			p.Env = [][2]string{{"PORT", p.Address[strings.LastIndexByte(p.Address, ':')+1:]}}
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
