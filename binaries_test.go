package dyno

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"testing"
)

// programs are how an executable of Linux, macOS (two byte orders) and Windows begins.
var programs = []string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xfe\xed\xfa\xcf", "MZ\x90\x00"}

// go build without -o leaves a program in the working directory, where git add -A finds it.
func TestNoProgramIsCommitted(t *testing.T) {
	list, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("this is no clone: %v", err)
	}
	for file := range bytes.SplitSeq(bytes.TrimSuffix(list, []byte{0}), []byte{0}) {
		f, err := os.Open(string(file))
		if err != nil {
			continue // deleted, and not committed yet
		}
		begin := make([]byte, 4)
		io.ReadFull(f, begin) // a shorter file is no program
		f.Close()
		for _, program := range programs {
			if string(begin) == program {
				t.Errorf("%s is a program: git rm --cached it, and list it in .gitignore", file)
			}
		}
	}
}
