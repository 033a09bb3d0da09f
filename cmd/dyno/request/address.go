package request

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dyno/cmd/dyno/usage"
	"dyno/lab/scenario/document"
)

// IsURL reports whether an argument that Targets has returned is a URL; otherwise it is a
// scenario file.
func IsURL(arg string) bool {
	return strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://")
}

// Targets reads the arguments of a command that takes URLs. An address of this machine without a
// scheme becomes an http URL. An argument that is clearly meant as a URL but is none, and no file
// either, is an error.
func Targets(args []string) ([]string, error) {
	out := slices.Clone(args)
	for i, arg := range args {
		address, err := Address(arg)
		if err != nil {
			return nil, err
		}
		if address != "" {
			out[i] = address
		}
	}
	return out, nil
}

// Address reads a URL. It returns an empty text if the argument is not one but may be the path of
// a file.
func Address(arg string) (string, error) {
	if _, err := os.Stat(arg); err == nil {
		return "", nil
	}
	scheme, rest, ok := strings.Cut(arg, "://")
	switch low := strings.ToLower(scheme); {
	case ok && (low == "http" || low == "https"):
		return low + "://" + rest, nil
	case ok && (low == "ws" || low == "wss"):
		return "", usage.Errorf("%s: calls over a WebSocket are a scenario: write load: {url: %q} in it, or http:// for requests (dyno init %s writes one)", arg, arg, "http://"+rest)
	case ok && (low == "grpc" || low == "grpcs"):
		return "", usage.Errorf("%s: calls of gRPC are a scenario with load: {kind: grpc}; write one with dyno init -", arg)
	case ok && low == "h2c":
		return "", usage.Errorf("%s: write http://%s --http2", arg, rest)
	case ok:
		return "", usage.Errorf("%s: dyno loads http and https, not %s: write http://%s", arg, scheme, rest)
	case strings.HasPrefix(arg, "unix:") || strings.HasPrefix(arg, "/") && strings.HasSuffix(arg, ".sock"):
		return "", usage.Errorf("%s: dyno connects by TCP, not to a socket in the file system: let the service listen at a port of 127.0.0.1 as well", arg)
	}
	for _, scheme := range []string{"http", "https"} {
		if rest, ok := strings.CutPrefix(strings.ToLower(arg), scheme); ok && rest != "" && strings.ContainsAny(rest[:1], ":/") {
			return "", usage.Errorf("%q is not a URL: write %s://%s", arg, scheme, strings.TrimLeft(rest, ":/"))
		}
	}
	return withoutScheme(arg)
}

// withoutScheme reads HOST:PORT/PATH. It returns an empty text if the argument may be the path of
// a file.
func withoutScheme(arg string) (string, error) {
	place, _, _ := strings.Cut(arg, "/")
	place, _, _ = strings.Cut(place, "?")
	host, port, err := net.SplitHostPort(place)
	n, portErr := strconv.Atoi(port)
	switch {
	case err != nil && isNumber(place) && place == arg:
		return "", usage.Errorf("%q is neither a URL nor a file: write http://127.0.0.1:%s/", arg, arg)
	case err != nil && (place == "localhost" || net.ParseIP(strings.Trim(place, "[]")) != nil):
		return "", usage.Errorf("%q has neither scheme nor port: write http://%s:PORT%s", arg, place, strings.TrimPrefix(arg, place))
	case err != nil:
		return "", nil
	case portErr != nil || n < 1 || n > 65535:
		return "", usage.Errorf("%q: %q is not a TCP port, which is a number from 1 to 65535", arg, port)
	case host == "":
		return "http://127.0.0.1" + arg, nil
	case host == "localhost" || net.ParseIP(host).IsLoopback():
		return "http://" + arg, nil
	}
	return "", usage.Errorf("%q has no scheme: write http://%s or https://%s", arg, arg, arg)
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// URL reads the argument of a command that takes a URL but no scenario.
func URL(arg string) (string, error) {
	address, err := Address(arg)
	if err != nil || address != "" {
		return address, err
	}
	if LooksLikeScenario(arg) {
		if missing := absent(arg); missing != nil {
			return "", usage.Errorf("load takes a URL, and %w", missing)
		}
		return "", usage.Errorf("%s is a scenario, and load takes a URL: write dyno run %s", arg, arg)
	}
	return "", usage.Errorf("%q is not a URL: write http://HOST:PORT/PATH", arg)
}

// LooksLikeScenario reports whether a path has a scenario's file extension.
func LooksLikeScenario(path string) bool {
	return slices.Contains([]string{".yaml", ".yml"}, strings.ToLower(filepath.Ext(path)))
}

// absent describes a scenario file that does not exist or is a folder, and suggests which one may
// be meant.
func absent(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		if found := scenariosIn(path); len(found) > 0 {
			return fmt.Errorf("%s is a folder: name a scenario in it, as in %s", path, filepath.Join(path, found[0]))
		}
		return fmt.Errorf("%s is a folder, without a scenario in it; dyno init writes one", path)
	case err == nil || !os.IsNotExist(err):
		return nil
	}
	dir, name := filepath.Split(path)
	if near, ok := document.Nearest(name, scenariosIn(filepath.Clean(dir))); ok {
		return fmt.Errorf("there is no file %s; did you mean %s?", path, dir+near)
	}
	if _, err := os.Stat(filepath.Clean(dir)); err != nil {
		return fmt.Errorf("there is no file %s, nor a folder %s", path, filepath.Clean(dir))
	}
	return fmt.Errorf("there is no file %s; dyno init writes a scenario", path)
}

// scenariosIn lists the YAML files of a folder.
func scenariosIn(dir string) (names []string) {
	const most = 1000 // bounds the work in a large folder
	entries, _ := os.ReadDir(dir)
	for _, e := range entries[:min(most, len(entries))] {
		if !e.IsDir() && LooksLikeScenario(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}
