package datadir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestFolder(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		says  string // "": opened
	}{
		{"fresh", nil, ""},
		{"fresh volume", map[string]string{"lost+found": ""}, ""},
		{"crashed while it was made", map[string]string{"LOCK": "99\n", "FORMAT.new": "{"}, ""},
		{"used before", map[string]string{"FORMAT": `{"service":"toyd","format":3}`, "000.log": "x", "LOCK": "123456\n"}, ""},
		{"older, can be upgraded", map[string]string{"FORMAT": `{"service":"toyd","format":2}`}, ""},
		{"older, upgrade fails", map[string]string{"FORMAT": `{"service":"toyd","format":1}`}, "from format 1 to 3: no way"},
		{"newer", map[string]string{"FORMAT": `{"service":"toyd","format":4}`}, "written by a newer toyd; this one reads up to 3"},
		{"of another service", map[string]string{"FORMAT": `{"service":"ordersd","format":3}`}, "belongs to ordersd, not to toyd"},
		{"damaged", map[string]string{"FORMAT": "\x00\x00"}, "is damaged"},
		{"without a format", map[string]string{"FORMAT": "{}"}, "is damaged"},
		{"another command was there first", map[string]string{"keys": "x"}, ""},
		{"a home folder", map[string]string{"thesis.tex": "x"}, "holds thesis.tex and no FORMAT file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			for name, text := range c.files {
				write(t, filepath.Join(dir, name), text)
			}
			upgraded := 0
			folder := Folder{Format: 3, Early: []string{"keys"}, Upgrade: func(_ string, from int) error {
				upgraded = from
				if from < 2 {
					return errors.New("no way")
				}
				return nil
			}}
			lock, err := folder.Open(dir, "toyd")
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), dir) {
					t.Errorf("%v, want %q and the folder", err, c.says)
				}
				if was := c.files["FORMAT"]; was != "" && read(t, filepath.Join(dir, "FORMAT")) != was {
					t.Error("the folder that was refused has another format now")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
			if got := read(t, filepath.Join(dir, "FORMAT")); !strings.Contains(got, `"format":3`) {
				t.Errorf("format file %q", got)
			}
			if got := read(t, filepath.Join(dir, "LOCK")); got != fmt.Sprintln(os.Getpid()) {
				t.Errorf("lock file %q", got)
			}
			if older := strings.Contains(c.files["FORMAT"], ":2"); older != (upgraded == 2) {
				t.Errorf("upgraded from %d", upgraded)
			}
		})
	}
}

func TestFolderThatIsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "thesis.tex")
	write(t, path, "x")
	for name, open := range map[string]func(Folder, string, string) (io.Closer, error){"Open": Folder.Open, "OpenExisting": Folder.OpenExisting} {
		if _, err := open(Folder{Format: 1}, path, "toyd"); err == nil || !strings.Contains(err.Error(), path+" is a file; choose a folder with --data") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFolderOfAnOlderFormatWithoutAWay(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "FORMAT"), `{"service":"toyd","format":1}`)
	if _, err := (Folder{Format: 2}).Open(dir, "toyd"); err == nil || !strings.Contains(err.Error(), "no way from there to format 2") {
		t.Error(err)
	}
}

func TestFolderHasOneUser(t *testing.T) {
	dir, folder := t.TempDir(), Folder{Format: 1}
	lock, err := folder.Open(dir, "toyd")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Open(dir, "toyd"); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d;", os.Getpid())) {
		t.Errorf("a second user got %v", err)
	}
	if got := read(t, filepath.Join(dir, "LOCK")); got != fmt.Sprintln(os.Getpid()) {
		t.Errorf("the second user left %q in the lock file", got)
	}
	lock.Close()
	again, err := folder.Open(dir, "toyd")
	if err != nil {
		t.Fatalf("after the first has gone: %v", err)
	}
	again.Close()
}

// A child has every open file until its exec. Such a one must not keep the folder locked.
func TestFolderIsLetGoWhileAChildStarts(t *testing.T) {
	dir, folder := t.TempDir(), Folder{Format: 1}
	lock, err := folder.Open(dir, "toyd")
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("cat") // until its input ends
	child.ExtraFiles = []*os.File{lock.(held).file}
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Skipf("this needs cat: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
	again, err := folder.Open(dir, "toyd")
	if err != nil {
		t.Errorf("after the first has gone: %v", err)
	} else {
		again.Close()
	}
	input.Close()
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
}

// A folder that is refused must not stay locked.
func TestRefusedFolderIsLetGo(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "FORMAT"), `{"service":"toyd","format":9}`)
	if _, err := (Folder{Format: 1}).Open(dir, "toyd"); err == nil {
		t.Fatal("opened")
	}
	lock, err := Folder{Format: 9}.Open(dir, "toyd")
	if err != nil {
		t.Fatal(err)
	}
	lock.Close()
}

func TestFolderThatCannotBeMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "x")
	if _, err := (Folder{Format: 1}).Open(filepath.Join(path, "data"), "toyd"); err == nil || !strings.Contains(err.Error(), "choose another with --data") {
		t.Error(err)
	}
}

func TestFolderThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, lockFile), 0o750); err != nil { // also root cannot open it to write
		t.Fatal(err)
	}
	if _, err := (Folder{Format: 1}).Open(dir, "toyd"); err == nil || !strings.Contains(err.Error(), "let this user write there") {
		t.Error(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What only reads makes no folder, and takes none over.
func TestOpenExisting(t *testing.T) {
	folder := Folder{Format: 1}
	dir := filepath.Join(t.TempDir(), "data")
	if _, err := folder.OpenExisting(dir, "toyd"); err == nil || !strings.Contains(err.Error(), dir+" holds no data of toyd") {
		t.Errorf("a folder that is not there: %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it was made")
	}
	lock, err := folder.Open(dir, "toyd")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := folder.OpenExisting(dir, "toyd"); err == nil || !strings.Contains(err.Error(), "in use by process") {
		t.Errorf("a folder in use: %v", err)
	}
	lock.Close()
	again, err := folder.OpenExisting(dir, "toyd")
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if _, err := folder.OpenExisting(dir, "ordersd"); err == nil || !strings.Contains(err.Error(), "belongs to toyd") {
		t.Errorf("another service's folder: %v", err)
	}
}

// A killed process holds its lock until the system has finished its last system call, which may be
// a write to disk.
func TestLockIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		before, err := Folder{Format: 1}.lock(dir, "toyd")
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() {
			if err := before.Close(); err != nil {
				t.Error(err)
			}
		})
		lock, err := Folder{Format: 1}.lock(dir, "toyd")
		if err != nil {
			t.Fatal(err)
		}
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
	})
}
