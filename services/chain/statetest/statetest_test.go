package statetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The files of testdata are copies from ethereum/tests. CHAIN_VECTORS names a folder with more of
// them, which has GeneralStateTests in it.
func TestVectors(t *testing.T) {
	run(t, "testdata")
	if dir := os.Getenv("CHAIN_VECTORS"); dir != "" {
		run(t, filepath.Join(dir, "GeneralStateTests"))
	}
}

func run(t *testing.T, dir string) {
	pass, fail, files := 0, 0, 0
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		files++
		return File(t.Context(), path, func(r Result) error {
			if r.Pass {
				pass++
			} else {
				fail++
				t.Errorf("%+v", r)
			}
			return nil
		})
	})
	if err != nil || pass == 0 {
		t.Errorf("%d passed: %v", pass, err)
	}
	t.Logf("%s: %d files, %d passed, %d failed", dir, files, pass, fail)
}

// A test whose expectation is changed fails, and says what differs.
func TestFailures(t *testing.T) {
	const valid, refused = "stShift_sar11.json", "stEIP3607_transactionCollidingWithNonEmptyAccount_init_Paris.json"
	for _, c := range []struct{ file, old, new, says string }{
		{valid, `"logs" : "0x1d`, `"logs" : "0x1e`, "the logs' hash is"},
		{valid, `"indexes" : {`, `"expectException" : "none", "indexes" : {`, "should be refused for none"},
		{valid, `"data" : 0`, `"data" : 99`, "beyond the transaction's variants"},
		{valid, `"Cancun"`, `"Cancon"`, `did you mean "Cancun"`},
		{valid, `"nonce" : "0x00"`, `"nonce" : "0x05"`, "root"},
		{refused, `"expectException"`, `"expected"`, "the transaction is refused"},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", c.file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), c.old) {
			t.Errorf("%s does not contain %s", c.file, c.old)
		}
		changed := filepath.Join(t.TempDir(), "changed.json")
		if err := os.WriteFile(changed, []byte(strings.ReplaceAll(string(text), c.old, c.new)), 0o600); err != nil {
			t.Fatal(err)
		}
		var says []string
		if err := File(t.Context(), changed, func(r Result) error { says = append(says, r.Error); return nil }); err != nil {
			t.Error(err)
		}
		if !strings.Contains(strings.Join(says, "\n"), c.says) {
			t.Errorf("%s with %s: %q, want %q", c.file, c.new, says, c.says)
		}
	}
}

// Numbers may have any width in a file, and are refused where a transaction has less.
func TestNumbers(t *testing.T) {
	for text, want := range map[number]string{
		"0x0a": "10", "10": "10", "0x": "0", "0x:bigint 0x0b": "11", "": "<nil>",
		"0xffffffffffffffff": "18446744073709551615", "0x10000000000000000": "64 bits", "-1": "no number", "0x-1": "no number", "1_0": "no number", "x": "no number",
	} {
		got, err := text.wide(64)
		if says := fmt.Sprint(got, err); !strings.Contains(says, want) || err == nil && got != nil && got.String() != want {
			t.Errorf("%q: %s, want %s", text, says, want)
		}
	}
}

// A file never makes the runner panic.
func FuzzFile(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tests, err := parse(text)
		if err != nil {
			return
		}
		for _, v := range tests {
			if v.Env.GasLimit = min(v.Env.GasLimit, 1e6); len(v.Pre) > 20 {
				return
			}
			for on, posts := range v.Post {
				for _, post := range posts[:min(len(posts), 2)] {
					v.run(on, post)
				}
			}
		}
	})
}
