package scenario

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// TestWrite checks that a written scenario reads as the same one: all of the repository's, those
// that importers make, and those of the tests.
func TestWrite(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../scenarios/*.yaml", "../../scenarios/*/*.yaml", "../importer/testdata/*/scenario.yaml", "testdata/*.yaml", "testdata/errors/*.yaml", "starter.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(file, text)
		if err != nil {
			if filepath.Base(filepath.Dir(file)) != "errors" {
				t.Error(err)
			}
			continue
		}
		var out bytes.Buffer
		if err := Write(&out, s, Comments{}); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		again, err := Parse(file, out.Bytes())
		if err != nil {
			t.Errorf("%v, in\n%s", err, out.String())
			continue
		}
		again.Text = s.Text
		if !reflect.DeepEqual(again, s) {
			t.Errorf("%s: read\n%+v\nwant\n%+v\nof\n%s", file, again, s, out.String())
		}
	}
	if !slices.ContainsFunc(files, func(f string) bool { return filepath.Base(f) == "notify.yaml" }) {
		t.Error("the main job's scenario is missing")
	}
}
