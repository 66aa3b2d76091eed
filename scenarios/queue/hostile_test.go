package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"sim/scenarios/queue/embedded"
)

// TestFailureTexts: failure reasons from workers are one printable line.
func TestFailureTexts(t *testing.T) {
	b := newBed(t)
	l, _ := b.store("n")
	for _, r := range []*Result{
		{Key: key(0), Failed: "\x1b[2J\x1b]0;title\x07cleared\r\nsim: all is well\u202e\u2028\xff"},
		{Key: key(1), Failed: strings.Repeat("é", 1<<20)},
		{Key: key(2), Failed: "\n\r\n"},
	} {
		if err := l.storeResult(context.Background(), batchAddressOf("1", "n"), r); err != nil {
			t.Fatal(err)
		}
	}
	r := b.publish(b.options("n"), numbered(3))
	r.check(map[string]string{
		key(0): `failed: \x1b[2J\x1b]0;title\acleared; sim: all is well\u202e\u2028�`,
		key(1): "failed: " + strings.Repeat("é", (maxLineBytes-3)/2) + "...",
		key(2): "failed: it failed without a word",
	})
}

// TestLargeResults: a result that is too large is a permanent failure and costs the
// publisher no memory.
func TestLargeResults(t *testing.T) {
	b := newBed(t)
	const n, size = 2, 50 << 20
	stop := b.work(b.workerOptions(), func(context.Context, []byte) ([]byte, error) { return make([]byte, MaxResult+1), nil })
	always := map[string]bool{}
	for _, r := range publishAll(b, 1) {
		always[r.Failed] = r.Permanent
	}
	stop()
	const why = "its result takes more than the 16777216 bytes that a queue takes at most"
	if !always[why] || len(always) != 1 {
		t.Errorf("a worker's result that is too large: %v", always)
	}

	// Oversized results that a worker stores nevertheless.
	l, _ := b.store("n")
	for i := range n {
		if err := l.storeResult(context.Background(), batchAddressOf("1", "n"), &Result{Key: key(i), Data: make([]byte, size)}); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rs := publishAll(b, n)
	runtime.ReadMemStats(&after)
	for _, r := range rs {
		if r.Failed != why || !r.Permanent {
			t.Errorf("item %s: %q, always %v", r.Key, r.Failed, r.Permanent)
		}
	}
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; len(rs) != n || mib > 500 {
		t.Errorf("%d results of 50 MiB took %d MiB", len(rs), mib)
	}
}

// publishAll publishes n items and returns their results.
func publishAll(b *testServer, n int) (rs []Result) {
	b.Helper()
	if err := Publish(context.Background(), b.options("n"), numbered(n), func(r Result) error {
		rs = append(rs, r)
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	return rs
}

// TestAlways: items that no server accepts fail permanently; a failure of a single worker
// is not permanent.
func TestAlways(t *testing.T) {
	b := newBed(t)
	b.work(b.workerOptions(), func(context.Context, []byte) ([]byte, error) { return nil, errors.New("broken") })
	items := numbered(3)
	items[1].Payload = inMemory(make([]byte, embedded.MaxPayload+1))
	items[2].Payload = func() ([]byte, error) { return nil, errors.New("no payload") }
	got := map[string]bool{}
	if err := Publish(context.Background(), b.options("n"), items, func(r Result) error {
		got[r.Key] = r.Permanent
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := map[string]bool{key(0): false, key(1): true, key(2): true}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v; want %v", got, want)
	}
}
