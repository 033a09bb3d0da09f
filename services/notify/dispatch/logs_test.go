package dispatch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder that another log wrote is not taken for empty, and the error names the logs that there
// are.
func TestFolderOfAnotherLog(t *testing.T) {
	for wrote, want := range map[string]string{"jetstream": "log=jetstream, not segment", "memory": `log="memory"`, "pebble": `log="pebble"`, "": "jetstream, segment"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, EngineFile), []byte(wrote+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := checkEngine(dir, "segment"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("written with %q: %v, want %q", wrote, err, want)
		}
	}
}
