package folder

import (
	"os"
	"path/filepath"
	"testing"
)

// What was made for an experiment goes with it; what was there before stays.
func TestPlace(t *testing.T) {
	root := t.TempDir()
	exists := func(path string) bool {
		_, err := os.Lstat(filepath.Join(root, path))
		return err == nil
	}
	for _, dir := range []string{"empty", "outs/other", "runs"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for dir, stays := range map[string]string{"empty": "empty", "outs/a": "outs", "new/a/b": "", "outs/b/c": "outs/other"} {
		p, err := Claim(filepath.Join(root, dir))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(root, dir, "runs", "1"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := p.Leave(); err != nil || exists(dir+"/runs") || dir != "empty" && exists(dir) || stays != "" && !exists(stays) || exists("new") {
			t.Errorf("%s: %v; it stays, or %s is gone", dir, err, stays)
		}
	}
	p, err := Claim(filepath.Join(root, "beside/a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "beside/another"), 0o755); err != nil { // of someone else, meanwhile
		t.Fatal(err)
	}
	if err := p.Leave(); err != nil || !exists("beside/another") {
		t.Errorf("a folder beside it is gone (%v)", err)
	}
	for dir, want := range map[string]string{"file": "is a file, or in one; name a folder with --out", "file/a": "is a file, or in one; name a folder with --out",
		"outs": "is not empty; name another folder with --out"} {
		dir = filepath.Join(root, dir)
		if _, err := Claim(dir); err == nil || err.Error() != dir+" "+want {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
