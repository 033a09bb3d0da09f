package importer

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// isZip reports whether a file is a zip, in which Playwright keeps a HAR and its bodies.
func isZip(file []byte) bool { return bytes.HasPrefix(file, []byte("PK\x03\x04")) }

// unzip returns the HAR of a zip, and an Opener of the files next to it.
func unzip(file []byte) (har []byte, open Opener, err error) {
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, nil, fmt.Errorf("it is not a zip that can be read: %w", err)
	}
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, ".har") {
			if har, err = extractFile(f, MaxBytes); err != nil {
				return nil, nil, err
			}
			folder := path.Dir(f.Name)
			return har, func(name string) ([]byte, error) {
				for _, f := range z.File {
					if f.Name == path.Join(folder, name) {
						return extractFile(f, maxFile)
					}
				}
				return nil, fmt.Errorf("the zip has no file %.100q", name)
			}, nil
		}
	}
	return nil, nil, errors.New("the zip has no file that ends in .har")
}

// extractFile reads a file of a zip, of at most some bytes.
func extractFile(f *zip.File, most int) ([]byte, error) {
	in, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%.100q of the zip cannot be read: %w", f.Name, err)
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, int64(most)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%.100q of the zip cannot be read: %w", f.Name, err)
	case len(b) > most:
		return nil, fmt.Errorf("%.100q of the zip has more than %d bytes", f.Name, most)
	}
	return b, nil
}
