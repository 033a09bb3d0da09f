package importer

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"mime/multipart"
	"net/textproto"
	"strings"
	"unicode/utf8"
)

// body sets the request's body, or returns the reason why the file does not have it. A request is
// sent without a body only if it had none.
func (e *harEntry) body(load *Load, r *Request, open Opener) error {
	p := &e.Request.PostData
	had := e.declared()
	contentType := cmp.Or(r.Get("Content-Type"), string(p.MimeType))
	switch {
	case p.File != "":
		b, err := open(string(p.File))
		if err != nil {
			return fmt.Errorf("its body is in another file, which cannot be read: %w", err)
		}
		r.Body = string(b)
	case p.Text != "":
		text, err := decodedBody(string(p.Text), string(p.Encoding))
		if err != nil {
			return err
		}
		coding := r.Get("Content-Encoding")
		switch {
		case strings.Contains(text, "\ufffd"): // invalid UTF-8 from base64 does not match this
			return errors.New("the recorder did not keep its body: U+FFFD stands there for bytes that are no text")
		case p.Encoding == "" && len(text) != had && otherBody(contentType, text) != "":
			return fmt.Errorf("its body was sent in %.40s, and the file and a scenario have it in UTF-8", otherBody(contentType, text))
		case len(text) < had && coding == "":
			return fmt.Errorf("the recorder kept %d of its %d bytes", len(text), had)
		case coding != "" && p.Encoding == "":
			r.Header = withoutField(r.Header, "Content-Encoding")
			load.Note("bodies that were sent as %.20s are in the file as text, and are sent as that", coding)
		}
		r.Body = text
	case len(p.Params) > 0 && strings.HasPrefix(contentType, "multipart/"):
		if err := p.multipart(load, r, contentType); err != nil {
			return err
		}
		return nil
	case len(p.Params) > 0:
		body, err := p.form(had)
		if err != nil {
			return err
		}
		r.Body = body
	case had > 0:
		return lostBytes(had)
	case strings.HasPrefix(contentType, "multipart/"):
		return errNoBody
	case had < 0 && r.Method != "GET" && r.Method != "HEAD" && (contentType != "" || r.Get("Transfer-Encoding") != ""):
		return errNoBody
	}
	if r.Body != "" && contentType != "" && (Field{Name: "Content-Type", Value: contentType}).Valid() {
		r.Default("Content-Type", contentType)
	}
	return nil
}

// otherBody returns the charset of a media type if a text has other bytes in that charset than in
// UTF-8; empty: its bytes are the same.
func otherBody(contentType, text string) string {
	_, parameters, err := mime.ParseMediaType(contentType)
	charset := strings.ToLower(parameters["charset"])
	wide := strings.HasPrefix(charset, "utf-16") || strings.HasPrefix(charset, "utf-32")
	isASCII := !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
	if err != nil || charset == "" || charset == "utf-8" || charset == "utf8" || isASCII && !wide {
		return ""
	}
	return charset
}

// decodedBody decodes a text from the encoding in which the file has it.
func decodedBody(text, encoding string) (string, error) {
	switch strings.ToLower(encoding) {
	case "", "utf-8", "utf8", "none", "identity", "plain":
		return text, nil
	case "base64":
		plain := strings.NewReplacer("\n", "", "\r", "", "-", "+", "_", "/").Replace(strings.TrimSpace(text))
		b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(plain, "="))
		if err != nil {
			return "", errors.New("its body says that it is base64, and is not")
		}
		return string(b), nil
	}
	return "", fmt.Errorf("its body is encoded as %.20q, which is not read", encoding)
}

// form joins the parameters of a form. Some programs write them escaped, as they were sent, and
// others unescaped: the size of the body decides, or else whether the parameters could have been
// sent as they are.
func (p *harPost) form(had int) (string, error) {
	var sent, coded []string
	for _, q := range p.Params {
		if q.FileName != "" && q.Value == nil {
			return "", errors.New("the file has the name of an uploaded file, and not what is in it")
		}
		value := ""
		if q.Value != nil {
			value = string(*q.Value)
		}
		sent = append(sent, string(q.Name)+"="+value)
		coded = append(coded, escapeComponent(string(q.Name))+"="+escapeComponent(value))
	}
	asSent, asEscaped := strings.Join(sent, "&"), strings.Join(coded, "&")
	plausible := strings.Count(asSent, "&") == len(sent)-1 && !strings.ContainsAny(percentEscape.ReplaceAllString(asSent, ""), "% \r\n\"<>") && strings.Count(asSent, "=") == len(sent)
	switch {
	case len(asSent) == had && plausible:
		return asSent, nil
	case len(asEscaped) == had || !plausible:
		return asEscaped, nil
	}
	return asSent, nil
}

// multipart writes the parts of a form. The boundary is the request's own if the file has it.
func (p *harPost) multipart(load *Load, r *Request, contentType string) error {
	var out strings.Builder
	w := multipart.NewWriter(&out)
	kind, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || parameters["boundary"] == "" || w.SetBoundary(parameters["boundary"]) != nil {
		if err := w.SetBoundary("----dyno-boundary"); err != nil {
			return err
		}
		if kind == "" {
			kind = "multipart/form-data"
		}
		r.Header = append(withoutField(r.Header, "Content-Type"), Field{Name: "Content-Type", Value: mime.FormatMediaType(kind, map[string]string{"boundary": w.Boundary()})})
	} else {
		r.Default("Content-Type", contentType)
	}
	quote := strings.NewReplacer("\\", "\\\\", `"`, "%22", "\r", "%0D", "\n", "%0A") // as browsers do
	for _, q := range p.Params {
		if q.Value == nil || q.FileName != "" && *q.Value == "" {
			return errors.New("the file has only the name of a part of its multipart form, and not what is in it")
		}
		header := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + quote.Replace(string(q.Name)) + `"`}}
		if q.FileName != "" {
			header["Content-Disposition"][0] += `; filename="` + quote.Replace(string(q.FileName)) + `"`
		}
		if f := (Field{Name: "Content-Type", Value: string(q.ContentType)}); q.ContentType != "" && f.Valid() {
			header["Content-Type"] = []string{f.Value}
		}
		part, err := w.CreatePart(header)
		if err != nil {
			return err
		}
		if _, err := part.Write([]byte(*q.Value)); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	r.Body = out.String()
	load.Note("multipart forms were put together from their fields, which the file has in place of a text")
	return nil
}
