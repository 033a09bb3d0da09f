package protosource

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// write makes files and returns their folder.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

const (
	orders = `syntax = "proto3";
package shop;
import "shop/money.proto";
import "google/api/annotations.proto";
import "google/protobuf/timestamp.proto";
message Order { string item = 1; Money price = 2; google.protobuf.Timestamp at = 3; }
service Orders {
  rpc Create(Order) returns (Order) { option (google.api.http) = { post: "/orders" body: "*" }; }
}
`
	money = `syntax = "proto3"; package shop; message Money { int64 cents = 1; }`
)

func TestCompile(t *testing.T) {
	folder := write(t, map[string]string{"proto/shop/orders.proto": orders, "third/shop/money.proto": money, "flat.proto": money})
	for _, tt := range []struct {
		files, roots []string
		services     int
	}{
		{[]string{"proto/shop/orders.proto"}, []string{"proto", "third"}, 1},
		{[]string{"flat.proto"}, nil, 0},
		{[]string{"third/shop/money.proto", "proto/shop/orders.proto"}, []string{"proto", "third"}, 1},
	} {
		encoded, err := Compile(t.Context(), below(folder, tt.files), below(folder, tt.roots))
		if err != nil {
			t.Fatal(err)
		}
		var set descriptorpb.FileDescriptorSet
		if err := proto.Unmarshal(encoded, &set); err != nil {
			t.Fatal(err)
		}
		if _, err := protodesc.NewFiles(&set); err != nil {
			t.Errorf("%v: %v", tt.files, err)
		}
		services := 0
		for _, f := range set.File {
			services += len(f.Service)
		}
		if services != tt.services {
			t.Errorf("%v: %d services", tt.files, services)
		}
	}
}

func below(folder string, names []string) (out []string) {
	for _, n := range names {
		out = append(out, filepath.Join(folder, n))
	}
	return out
}

// Errors name file, line and what to do.
func TestFaults(t *testing.T) {
	folder := write(t, map[string]string{
		"proto/shop/orders.proto": orders, "proto/shop/money.proto": money,
		"broken.proto":  "syntax = \"proto3\";\nmessage A { string a = 1 }\nmessage B { Nothing b = 1; }\n",
		"far.proto":     "syntax = \"proto3\";\nimport \"nowhere.proto\";\n",
		"outside.proto": "syntax = \"proto3\";\nimport \"../outside.proto\";\n",
		"large.proto":   "syntax = \"proto3\";\n//" + strings.Repeat("x", maxBytes),
		"a/unknown.proto": `syntax = "proto3";
message B {
  Nothing b = 1;
}`,
	})
	t.Chdir(folder)
	for _, tt := range []struct{ file, root, want string }{
		{"proto/shop/orders.proto", "", "proto/shop/orders.proto:3:8: could not resolve path \"shop/money.proto\": no such file in proto/shop; it is in proto: write load.proto_path: [proto]"},
		{"broken.proto", "", "broken.proto:2:26: syntax error: expecting ';'"},
		{"a/unknown.proto", "", "a/unknown.proto:3:3: field B.b: unknown type Nothing"},
		{"far.proto", "", "far.proto:2:8: could not resolve path \"nowhere.proto\": no such file in .; name the folder from which it counts in load.proto_path"},
		{"outside.proto", "", "outside.proto:2:8: "},
		{"large.proto", "", "larger than 4 MiB"},
		{"none.proto", "", "none.proto: no such file or directory; a path counts from the folder of the scenario"},
		{"far.proto", "proto", "far.proto is in none of the folders of load.proto_path (proto)"},
	} {
		var roots []string
		if tt.root != "" {
			roots = below(folder, []string{tt.root})
		}
		if _, err := Compile(t.Context(), below(folder, []string{tt.file}), roots); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v\nwant %s", tt.file, err, tt.want)
		}
	}
}

// No file, whatever its content, may cause more than an error.
func FuzzCompile(f *testing.F) {
	f.Add(orders)
	f.Add("syntax = \"proto2\"; message A { optional group B = 1 { repeated A a = 1; } extensions 2 to max; }")
	f.Add("edition = \"2023\"; import \"x.proto\"; enum E { A = 0; }")
	f.Fuzz(func(t *testing.T, text string) {
		folder := write(t, map[string]string{"x.proto": text, "shop/money.proto": money})
		encoded, err := Compile(context.Background(), below(folder, []string{"x.proto"}), nil)
		if err == nil && proto.Unmarshal(encoded, &descriptorpb.FileDescriptorSet{}) != nil {
			t.Error("no descriptors, and no error")
		}
	})
}
