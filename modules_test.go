package dyno

import (
	"encoding/json"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// modules are those of the repository, "." for the root, each with the modules that its go.mod must
// not name, not even indirectly: a build takes the highest version that any requirement names, and
// a user of one program builds nothing that only another needs. go mod tidy holds the rest.
var modules = map[string][]string{
	"agent":           {""}, // any: every measured program imports it
	"parts":           slices.Concat(lab, ethereum, databases, messaging, compared),
	".":               slices.Concat(services, ethereum, databases, compared),
	"services":        slices.Concat(lab, ethereum, []string{"github.com/parquet-go/"}, compared),
	"services/chain":  slices.Concat(lab, services, messaging, []string{"github.com/jackc/pgx"}, compared),
	"services/ledger": slices.Concat(lab, services, messaging, []string{"github.com/jackc/pgx", "go.etcd.io/raft"}, compared),
	"bench":           nil, // no user installs it
}

var (
	lab       = []string{module + "@"}
	services  = []string{module + "/services"}
	ethereum  = []string{"github.com/ethereum/go-ethereum", "go.etcd.io/raft", "github.com/cockroachdb/pebble"}
	databases = []string{"github.com/jackc/pgx"}
	messaging = []string{"github.com/nats-io/nats-server", "github.com/nats-io/nats.go"}
	compared  = []string{module + "/bench", "github.com/chromedp", "github.com/hanwen/go-fuse", "github.com/redis/", "github.com/tidwall/wal", "github.com/minio/simdjson-go"}
)

func TestModulesRequireWhatTheyNeed(t *testing.T) {
	for dir, forbidden := range modules {
		var mod struct {
			Require []struct{ Path, Version string }
			Exclude []any
		}
		edit(t, &mod, "mod", "edit", "-json", filepath.Join(dir, "go.mod"))
		for _, r := range mod.Require {
			for _, f := range forbidden {
				if strings.HasPrefix(r.Path+"@", f) {
					t.Errorf("%s/go.mod requires %s: move what imports it to the module that may have it (modules_test.go)", dir, r.Path)
				}
			}
		}
		if len(mod.Exclude) > 0 && dir != "bench" {
			t.Errorf("%s/go.mod excludes: go install refuses that; require a version instead", dir)
		}
	}
}

// Every go.mod is in the workspace, so that one command builds and tests all modules, and in the
// table above.
func TestWorkspaceHasAllModules(t *testing.T) {
	var work struct{ Use []struct{ DiskPath string } }
	edit(t, &work, "work", "edit", "-json", "go.work")
	var used []string
	for _, u := range work.Use {
		used = append(used, filepath.ToSlash(filepath.Clean(u.DiskPath)))
	}
	for dir := range modules {
		if !slices.Contains(used, dir) {
			t.Errorf("%s: no such module is in go.work; take it out of the table in modules_test.go", dir)
		}
	}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "dyno-out" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if d.Name() != "go.mod" {
			return nil
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if !slices.Contains(used, dir) {
			t.Errorf("%s is not in go.work: go work use ./%s", path, dir)
		}
		if _, listed := modules[dir]; !listed {
			t.Errorf("%s: add the module to the table in modules_test.go with what it must not require", dir)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func edit(t *testing.T, into any, args ...string) {
	t.Helper()
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatal(err)
	}
}
