package oteltest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// secret is content, wherever a producer may put it.
const secret = "CANARY"

// conversation writes a session whose content is secret; its last record is
// cut off.
func conversation(stream string) (*agdxlog.Session, []agdxlog.Record) {
	log := agdxlog.New(stream)
	s := log.Session("traced", "planner")
	s.Start(agdxlog.Start{Label: secret + " label", Namespace: "shop"})
	s.Note(secret + " note")
	s.Tool("grep", `{"pattern":"`+secret+` argument"}`, `{"text":"`+secret+` result"}`)
	s.ToolFails("grep", `{"pattern":"x"}`, secret+" message")
	s.Cut(wire.RoleLane)
	for i := range log.Records {
		h := &log.Records[i].Headers
		*h = append(*h, wire.Header{Key: "baggage", Value: []byte("user=" + secret)}, wire.Header{Key: "tracestate", Value: []byte("vendor=" + secret)})
	}
	return s, log.Records
}

// One batch from its producer to its change row, as a collector gets it, by
// both protocols.
func TestABatchFromProducerToChangeRow(t *testing.T) {
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		t.Run(protocol, func(t *testing.T) {
			r := newRig(t, protocol)
			// At run time, so that lines about commits are shown.
			r.ask(http.MethodPut, r.worker.Admin+"/loglevel?level=debug", http.StatusOK)
			s, records := conversation(r.stream)
			// A header that is no context stands for nothing, and goes nowhere.
			records[1].Headers = append(records[1].Headers, wire.Header{Key: "traceparent", Value: []byte(secret)})
			producer := r.produce(records)
			r.folded(s.ID, uint64(len(records)))

			send := r.checkSpans(pcommon.TraceID(producer.TraceID()))
			r.checkRows(send)
			r.checkRequest(s.ID)
			r.checkMetrics()
			r.checkLogs(send.TraceID())
			if err := r.worker.Stop(); err != nil {
				t.Fatal(err)
			}
			r.checkContent(s.ID)
		})
	}
}

// checkSpans waits for the trace whose fold is linked to a producer's and looks
// at it; it gives the span whose context change rows carry.
func (r *rig) checkSpans(producer pcommon.TraceID) (send span) {
	r.Helper()
	lane, changes := r.stream+".agent.sessions", r.stream+"-changes"
	if s := r.awaitSpan("producer", func(s span) bool { return s.TraceID() == producer && s.service == "agent" }); s.Name() != "send "+lane {
		r.Errorf("the producer's span is %q", s.Name())
	}
	process := r.awaitSpan("fold linked to the producer", func(s span) bool {
		for _, l := range s.Links().All() {
			if l.TraceID() == producer {
				return true
			}
		}
		return false
	})
	of := func(name string) span {
		return r.awaitSpan(name, func(s span) bool { return s.Name() == name && s.TraceID() == process.TraceID() })
	}
	batch, commit := of("batch "+r.stream), of("commit "+r.stream)
	send = of("send " + changes)
	for s, want := range map[span]struct {
		parent    pcommon.SpanID
		kind      ptrace.SpanKind
		operation string
		topic     string
	}{
		batch:                 {pcommon.SpanID{}, ptrace.SpanKindInternal, "", ""},
		of("receive " + lane): {batch.SpanID(), ptrace.SpanKindClient, "receive", lane},
		process:               {batch.SpanID(), ptrace.SpanKindConsumer, "process", lane},
		commit:                {batch.SpanID(), ptrace.SpanKindClient, "commit", ""},
		send:                  {commit.SpanID(), ptrace.SpanKindProducer, "send", changes},
	} {
		a := s.Attributes()
		if s.ParentSpanID() != want.parent || s.Kind() != want.kind || s.service != "sessionfold" ||
			text(a, "messaging.operation.name") != want.operation || text(a, "messaging.destination.name") != want.topic || text(a, "messaging.system") != "kafka" {
			r.Errorf("span %q of %s: parent %s, kind %s, %v; want %+v", s.Name(), s.service, s.ParentSpanID(), s.Kind(), a.AsRaw(), want)
		}
		if s.StartTimestamp() < batch.StartTimestamp() || s.EndTimestamp() > batch.EndTimestamp() {
			r.Errorf("span %q is not within its batch", s.Name())
		}
	}
	a := process.Attributes()
	if text(a, "messaging.consumer.group.name") != r.stream || text(a, "messaging.destination.partition.id") == "" || text(a, "messaging.kafka.offset") == "" {
		r.Errorf("the fold says %v", a.AsRaw())
	}
	return send
}

func (r *rig) awaitSpan(what string, ok func(span) bool) (found span) {
	r.Helper()
	r.eventually(func() error {
		s, there := r.back.find(ok)
		if !there {
			return fmt.Errorf("no span was received: %s", what)
		}
		found = s
		return nil
	})
	return found
}

// checkRows looks for the change row that carries a span's context.
func (r *rig) checkRows(send span) {
	r.Helper()
	want := fmt.Sprintf("00-%s-%s-01", send.TraceID(), send.SpanID())
	carried := 0
	for _, row := range r.rows() {
		if traceparent(row) == want {
			carried++
			if strings.Contains(string(row.Value), send.TraceID().String()) {
				r.Errorf("the row itself names the trace: %s", row.Value)
			}
		}
	}
	if carried == 0 {
		r.Errorf("no change row carries %s", want)
	}
}

// checkRequest reads within a span of a client: the worker's goes below it.
func (r *rig) checkRequest(id wire.ID) {
	r.Helper()
	client := r.ask(http.MethodGet, r.worker.Reads+"/sessions/"+r.stream+"/"+id.String()+"?subtree=true", http.StatusOK)
	s := r.awaitSpan("request of a client", func(s span) bool {
		return s.TraceID() == pcommon.TraceID(client.TraceID()) && s.Kind() == ptrace.SpanKindServer
	})
	const route = "/agdx/sessions/{stream}/{id}"
	if s.Name() != "GET "+route || s.ParentSpanID() != pcommon.SpanID(client.SpanID()) || text(s.Attributes(), "http.route") != route || text(s.Attributes(), "url.path") != route {
		r.Errorf("span %q below %s: %v", s.Name(), s.ParentSpanID(), s.Attributes().AsRaw())
	}
	r.ask(http.MethodGet, r.worker.Reads+"/nowhere/"+id.String(), http.StatusNotFound)
	// Profiles are on the other listener.
	base := strings.TrimSuffix(r.worker.Reads, "/agdx")
	r.ask(http.MethodGet, base+"/debug/pprof/", http.StatusNotFound)
	r.ask(http.MethodGet, r.worker.Admin+"/debug/pprof/", http.StatusOK)
}

// checkMetrics waits for metrics over OTLP, those with the conventions' names
// and the program's own, and looks for the same at /metrics.
func (r *rig) checkMetrics() {
	r.Helper()
	want := map[string]string{
		"messaging.client.consumed.messages":   "messaging_client_consumed_messages_total",
		"messaging.client.sent.messages":       "messaging_client_sent_messages_total",
		"messaging.client.operation.duration":  "messaging_client_operation_duration_seconds_bucket",
		"messaging.process.duration":           "messaging_process_duration_seconds_bucket",
		"http.server.request.duration":         "http_server_request_duration_seconds_bucket",
		"folder_records_total":                 "folder_records_total",
		"folder_source_next_offset":            "folder_source_next_offset",
		"folder_http_request_duration_seconds": "folder_http_request_duration_seconds_bucket",
		"go_goroutines":                        "go_goroutines",
	}
	var got map[string]pmetric.Metric
	r.eventually(func() error {
		got = r.back.meters()
		for name := range want {
			if _, ok := got[name]; !ok {
				return fmt.Errorf("no metric %s was received", name)
			}
		}
		return nil
	})
	scraped, err := r.worker.Get(r.Context(), r.worker.Admin+"/metrics")
	if err != nil {
		r.Fatal(err)
	}
	for _, name := range want {
		if !strings.Contains(string(scraped), "\n"+name+"{") && !strings.Contains(string(scraped), "\n"+name+" ") {
			r.Errorf("/metrics has no %s", name)
		}
	}
	if h := got["messaging.process.duration"]; h.Unit() != "s" || h.Histogram().DataPoints().At(0).ExplicitBounds().Len() != 14 {
		r.Errorf("durations have unit %q and bounds %v", h.Unit(), h.Histogram().DataPoints().At(0).ExplicitBounds().AsRaw())
	}
	lane := r.stream + ".agent.sessions"
	consumed := int64(0)
	for _, p := range got["messaging.client.consumed.messages"].Sum().DataPoints().All() {
		if a := p.Attributes(); text(a, "messaging.destination.name") == lane && text(a, "messaging.system") == "kafka" &&
			text(a, "messaging.consumer.group.name") == r.stream && text(a, "messaging.destination.partition.id") != "" {
			consumed += p.IntValue()
		}
	}
	if consumed == 0 {
		r.Errorf("nothing was consumed of %s: %v", lane, got["messaging.client.consumed.messages"].Sum().DataPoints().Len())
	}
}

// checkLogs waits for the line of a batch's commit, over OTLP and on standard error.
func (r *rig) checkLogs(trace pcommon.TraceID) {
	r.Helper()
	r.eventually(func() error {
		if _, ok := r.back.line("committed", trace); !ok {
			return fmt.Errorf("no line about the commit of trace %s was received", trace)
		}
		return nil
	})
	for line := range strings.Lines(r.worker.Log()) {
		if strings.Contains(line, `"msg":"committed"`) && strings.Contains(line, `"trace_id":"`+trace.String()+`"`) && strings.Contains(line, `"span_id":"`) {
			return
		}
	}
	r.Errorf("no line about the commit names trace %s", trace)
}

// checkContent looks for what must not be told in all that was.
func (r *rig) checkContent(id wire.ID) {
	r.Helper()
	all := r.back.everything(r.T)
	if len(all) < 10_000 {
		r.Errorf("only %d bytes were received", len(all))
	}
	for _, text := range []string{secret, id.String(), strings.ToLower(id.String()), fmt.Sprintf("%x", id[:])} {
		if i := strings.Index(all, text); i >= 0 {
			r.Errorf("%q was told: …%s…", text, all[max(0, i-200):min(len(all), i+100)])
		}
	}
}
