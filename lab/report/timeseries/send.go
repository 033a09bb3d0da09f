package timeseries

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
)

// Job is the label job of all series, and the service.name of OTLP.
const Job = "dyno"

// Bounds of a request: receivers refuse large ones, and one that hangs is ended.
const (
	mostPoints = 10_000
	patience   = 30 * time.Second
)

// OTLP sends the series to an endpoint of OTLP over HTTP, such as http://127.0.0.1:4318 of a
// collector or http://127.0.0.1:9090/api/v1/otlp of Prometheus.
func OTLP(ctx context.Context, to string, all []Series) error {
	u, err := parse(to)
	if err != nil {
		return err
	}
	if !strings.HasSuffix(u.Path, "/v1/metrics") {
		u = u.JoinPath("v1/metrics")
	}
	return inParts(all, func(part []Series) error {
		body, err := proto.Marshal(metricsData(part))
		if err != nil {
			return fmt.Errorf("encoding series: %w", err)
		}
		return post(ctx, u, body)
	})
}

func parse(to string) (*url.URL, error) {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is no URL to send series to; give one such as http://127.0.0.1:9090", to)
	}
	return u, nil
}

// inParts hands out the series in parts of at most mostPoints points.
func inParts(all []Series, send func([]Series) error) error {
	var part []Series
	room := mostPoints
	for _, s := range all {
		for rest := s.Points; len(rest) > 0; {
			n := min(room, len(rest))
			part = append(part, Series{s.Name, s.Labels, rest[:n]})
			rest, room = rest[n:], room-n
			if room == 0 {
				if err := send(part); err != nil {
					return err
				}
				part, room = nil, mostPoints
			}
		}
	}
	if len(part) == 0 {
		return nil
	}
	return send(part)
}

// metricsData has the wire form of an ExportMetricsServiceRequest, whose package brings gRPC along.
func metricsData(part []Series) *otlp.MetricsData {
	var all []*otlp.Metric
	for _, s := range part {
		var labels []*common.KeyValue
		for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
			if value := s.Labels[name]; value != "" {
				labels = append(labels, attribute(name, value))
			}
		}
		gauge := &otlp.Gauge{}
		for _, p := range s.Points {
			gauge.DataPoints = append(gauge.DataPoints, &otlp.NumberDataPoint{
				Attributes: labels, TimeUnixNano: uint64(p.At.UnixNano()), Value: &otlp.NumberDataPoint_AsDouble{AsDouble: p.Value}})
		}
		all = append(all, &otlp.Metric{Name: s.Name, Data: &otlp.Metric_Gauge{Gauge: gauge}})
	}
	return &otlp.MetricsData{ResourceMetrics: []*otlp.ResourceMetrics{{
		Resource:     &resource.Resource{Attributes: []*common.KeyValue{attribute("service.name", Job)}},
		ScopeMetrics: []*otlp.ScopeMetrics{{Metrics: all}},
	}}}
}

func attribute(name, value string) *common.KeyValue {
	return &common.KeyValue{Key: name, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: strings.ToValidUTF8(value, "?")}}}
}

// post sends a body of Protobuf. Its errors name the URL without its password.
func post(ctx context.Context, to *url.URL, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("sending series to %s: %w", to.Redacted(), err)
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("User-Agent", Job)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("sending series: %w", err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 512)) // an explanation that breaks off is still one
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("sending series to %s: status %d: %s%s", to.Redacted(), answer.StatusCode, strings.TrimSpace(string(text)), advice(answer.StatusCode, string(text)))
	}
	return nil
}

// advice is how to make Prometheus accept what it refused.
func advice(status int, text string) string {
	switch {
	case status == http.StatusNotFound:
		return "; start Prometheus with --web.enable-otlp-receiver and give the path api/v1/otlp"
	case strings.Contains(text, "out of") || strings.Contains(text, "too old"):
		return "; give Prometheus an out_of_order_time_window that reaches back to the run (storage: tsdb:)"
	}
	return ""
}
