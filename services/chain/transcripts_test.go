package chain_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// send is the method of the transcripts that a node which only reads does not have.
const send = "eth_sendRawTransaction"

// The answers about the public chain are those that Ethereum's clients agree on. CHAIN_TRANSCRIPTS
// names a folder with another set: genesis.json, chain.rlp and the transcripts.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	var all []txtar.File
	for _, name := range []string{"transcripts", "geth"} {
		archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, archive.Files...)
	}
	converse(t, public, all)
	dir := os.Getenv("CHAIN_TRANSCRIPTS")
	if dir == "" {
		return
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*.io"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d transcripts in %s: %v", len(paths), dir, err)
	}
	var files []txtar.File
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, txtar.File{Name: path, Data: text})
	}
	converse(t, dir, files)
}

// converse asks a node that only reads, and another one what changes the chain.
func converse(t *testing.T, chain string, files []txtar.File) {
	data := imported(t, chain)
	var sends []txtar.File
	files = slices.DeleteFunc(slices.Clone(files), func(f txtar.File) bool {
		is := bytes.Contains(f.Data, []byte(`"method":"`+send+`"`))
		if is {
			sends = append(sends, f)
		}
		return is
	})
	n := serve(t, "--data", data, "--read-only")
	n.transcripts(files)
	n.stop()
	serve(t, "--data", data).transcripts(sends)
}

func (n *node) transcripts(files []txtar.File) {
	passed := 0
	for _, f := range files {
		if err := n.transcript(f.Data); err != nil {
			n.t.Errorf("%s: %v", f.Name, err)
			continue
		}
		passed++
	}
	n.t.Logf("%d of %d transcripts pass", passed, len(files))
	if passed == 0 {
		n.t.Error("none passes")
	}
}

// transcript asks the questions of a transcript. Answers must be equal but for the text of errors,
// and of the same shape where the transcript is about that only.
func (n *node) transcript(text []byte) error {
	shape := bytes.Contains(text, []byte("// speconly"))
	var answer []byte
	for line := range strings.Lines(string(text)) {
		switch mark, body, _ := strings.Cut(strings.TrimSpace(line), " "); mark {
		case ">>":
			_, answer = n.post(body)
		case "<<":
			got, want := parse(answer), parse([]byte(body))
			if got == nil || want == nil {
				return fmt.Errorf("the answer %q, or the one that is wanted, is no JSON", answer)
			}
			if err := differs("", got, want, shape); err != nil {
				return fmt.Errorf("%w\n got %s\nwant %s", err, answer, body)
			}
		}
	}
	return nil
}

func parse(text []byte) (v any) {
	_ = json.Unmarshal(text, &v) // nil is found by the caller
	return v
}

// differs names the first member in which two values are not equal, or not of one kind if shape is
// set.
func differs(path string, got, want any, shape bool) error {
	if reflect.TypeOf(got) != reflect.TypeOf(want) {
		return fmt.Errorf("%s is %v, want %v", path, got, want)
	}
	switch want := want.(type) {
	case map[string]any:
		got := got.(map[string]any)
		if path == ".error" {
			delete(got, "message")
			delete(want, "message")
		}
		for name := range got {
			if _, ok := want[name]; !ok {
				return fmt.Errorf("%s.%s is too much", path, name)
			}
		}
		for name, value := range want {
			if err := differs(path+"."+name, got[name], value, shape && path+"."+name != ".error.code"); err != nil {
				return err
			}
		}
	case []any:
		got := got.([]any)
		if len(got) != len(want) && !shape {
			return fmt.Errorf("%s has %d elements, want %d", path, len(got), len(want))
		}
		for i := range min(len(got), len(want)) {
			if err := differs(fmt.Sprintf("%s[%d]", path, i), got[i], want[i], shape); err != nil {
				return err
			}
		}
	default:
		if !shape && got != want {
			return fmt.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	return nil
}
