package scenario

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"dyno/lab/scenario/document"
)

// FuzzParse checks that any file gives a valid scenario, or errors whose positions lie within the
// file.
func FuzzParse(f *testing.F) {
	f.Add(Starter())
	for _, pattern := range []string{"testdata/*.yaml", "testdata/errors/*.yaml", "../../scenarios/*.yaml"} {
		files, err := filepath.Glob(pattern)
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
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse("fuzz.yaml", text)
		if err != nil {
			checkErrors(t, text, err)
			return
		}
		if s.Name == "" || s.Mode == "" {
			t.Errorf("accepted without a name or mode: %+v", s)
		}
		for _, v := range s.Variants {
			if found, err := s.Variant(v.Name); err != nil || !reflect.DeepEqual(found, v) {
				t.Errorf("variant %q cannot be found: %v", v.Name, err)
			}
			s.TargetOf(v)
			s.LoadOf(v)
			s.SetupOf(v)
		}
		again, err := Parse("fuzz.yaml", text)
		if err != nil || !reflect.DeepEqual(s, again) {
			t.Errorf("read a second time, it differs: %v", err)
		}
		var written bytes.Buffer
		if err := Write(&written, s, Comments{}); err != nil {
			t.Fatal(err)
		}
		if written.Len() > document.MaxBytes {
			return
		}
		if again, err = Parse("fuzz.yaml", written.Bytes()); err != nil {
			t.Fatalf("%v, in\n%s", err, written.String())
		}
		var anew bytes.Buffer
		if err := Write(&anew, again, Comments{}); err != nil || !bytes.Equal(anew.Bytes(), written.Bytes()) {
			t.Errorf("%v; written, read and written, it differs:\n%s\nfrom\n%s", err, anew.String(), written.String())
		}
	})
}
