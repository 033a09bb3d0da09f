package deploy

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"
)

// root is the repository, and folder what is tested.
const (
	root   = "../../.."
	folder = root + "/deploy/"
)

// services are those that have files of their own.
var services = []string{"notifyd", "ordersd", "ledgersync", "chaind", "arenad"}

func read(t testing.TB, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// decode reads a YAML file, strictly as far as into has fields for it.
func decode(t testing.TB, file string, into any) {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewReader(read(t, file)))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(folder + pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	return files
}

// Every YAML file can be read, and has no key twice.
func TestYAML(t *testing.T) {
	for _, pattern := range []string{"*.yaml", "*/*.yaml", "*/*.yml", "*/*/*.yaml", "*/*/*/*.yaml"} {
		for _, file := range glob(t, pattern) {
			documents := yaml.NewDecoder(bytes.NewReader(read(t, file)))
			for {
				var document any
				err := documents.Decode(&document)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Errorf("%s: %v", file, err)
					break
				}
			}
		}
	}
}
