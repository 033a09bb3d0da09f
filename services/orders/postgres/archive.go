package postgres

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/xi2/xz"
)

// mavenCentral is Maven Central, where the project embedded-postgres-binaries publishes PostgreSQL
// for many platforms: an archive in a jar, and the jar's SHA-256 beside it.
const mavenCentral = "https://repo1.maven.org/maven2"

// Bounds of what comes from there, several times what it is: 14 MB that become 60 MB in 1,400
// files.
const (
	maxArchive  = 200 << 20 // bytes
	maxUnpacked = 1 << 30   // bytes
	maxFiles    = 20_000
)

// platform is what the archives call this machine.
func platform() string {
	name := runtime.GOOS + "-" + runtime.GOARCH
	if runtime.GOARCH == "arm64" {
		name += "v8"
	}
	if _, err := os.Stat("/etc/alpine-release"); err == nil {
		name += "-alpine"
	}
	return name
}

func archiveURL(repository, release, platform string) string {
	name := "embedded-postgres-binaries-" + platform
	return fmt.Sprintf("%s/io/zonky/test/postgres/%s/%s/%s-%s.jar", repository, name, release, name, release)
}

// retrieve downloads url into a file and compares it with the checksum that the repository has for
// it.
func retrieve(ctx context.Context, url, file string) error {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	sum := sha256.New()
	if err := fetchBody(ctx, url, io.MultiWriter(out, sum), maxArchive); err != nil {
		return err
	}
	var published strings.Builder
	if err := fetchBody(ctx, url+".sha256", &published, 4<<10); err != nil {
		return err
	}
	want, _, _ := strings.Cut(strings.TrimSpace(published.String()), " ")
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("%s has the checksum %s, not %q as published: try again, and look at what stands between this machine and the repository", url, got, want)
	}
	return out.Close()
}

// downloader keeps no connections: one download is all.
var downloader = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}

// fetchBody writes the body at url, of at most limit bytes.
func fetchBody(ctx context.Context, url string, to io.Writer, limit int64) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := downloader.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	n, err := io.Copy(to, io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", url, err)
	case n > limit:
		return fmt.Errorf("%s has more than %d bytes", url, limit)
	}
	return nil
}

// unpack extracts the archive in a jar into folder, which it makes, and lists there what it
// extracted.
func unpack(ctx context.Context, jar, folder string) error {
	files, err := zip.OpenReader(jar)
	if err != nil {
		return err
	}
	defer files.Close()
	for _, f := range files.File {
		if !strings.HasSuffix(f.Name, ".txz") {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return err
		}
		defer in.Close()
		return unpackTar(ctx, in, folder)
	}
	return errors.New("no .txz is in it")
}

// manifest lists the files of an unpacked archive, a line each: its size and its path.
const manifest = "files"

func unpackTar(ctx context.Context, txz io.Reader, folder string) error {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder) // no name leads out of it
	if err != nil {
		return err
	}
	defer root.Close()
	plain, err := xz.NewReader(txz, 0)
	if err != nil {
		return err
	}
	var listed strings.Builder
	in, left := tar.NewReader(plain), int64(maxUnpacked)
	for n := 0; ; n++ {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return root.WriteFile(manifest, []byte(listed.String()), 0o644)
		}
		if err == nil {
			left -= h.Size
			err = ctx.Err()
		}
		if err == nil && (n > maxFiles || left < 0) {
			err = fmt.Errorf("more than %d files or %d bytes are in it", maxFiles, int64(maxUnpacked))
		}
		if err == nil {
			err = extract(root, h, in)
		}
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeReg {
			fmt.Fprintln(&listed, h.Size, path.Clean(h.Name))
		}
	}
}

// extract makes a file, a folder or a symbolic link. What has them run is another user (0o755).
func extract(root *os.Root, h *tar.Header, content io.Reader) error {
	name := path.Clean(h.Name)
	if h.Typeflag == tar.TypeDir {
		return mkdir(root, name)
	}
	if err := mkdir(root, path.Dir(name)); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeReg:
		mode := os.FileMode(0o644)
		if h.Mode&0o111 != 0 {
			mode = 0o755
		}
		out, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, content)
		return errors.Join(err, out.Chmod(mode), out.Close()) // whatever the umask is
	}
	return nil
}

// mkdir makes a folder and those above it.
func mkdir(root *os.Root, name string) error {
	if name == "." {
		return nil
	}
	if err := mkdir(root, path.Dir(name)); err != nil {
		return err
	}
	if err := root.Mkdir(name, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return root.Chmod(name, 0o755)
}

// complete reports whether all files of an archive are still there, each as long as it was. A
// download by an older version of this program has no list.
func complete(folder string) bool {
	list, err := os.Open(filepath.Join(folder, manifest))
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer list.Close()
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		var size int64
		text, name, _ := strings.Cut(lines.Text(), " ")
		if _, err := fmt.Sscan(text, &size); err != nil {
			return false
		}
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Size() != size {
			return false
		}
	}
	return lines.Err() == nil
}
