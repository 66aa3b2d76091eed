package queue

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
)

// TestListen: addresses without a token before the @, and addresses that cannot be used,
// are rejected.
func TestListen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for text, want := range map[string]string{
		"@:4222":                     `there is no token before the @ of "@:4222", so nobody would be asked for one; write TOKEN@:4222`,
		"a b@:4222":                  "must be without",
		"a:b@:4222":                  "must be without",
		"a\x1b@:4222":                "one word of printable characters",
		"":                           "",
		"4222":                       "is no address to listen at",
		":99999":                     "is no address to listen at",
		":http":                      "is no address to listen at",
		"192.0.2.1:0":                "nobody can listen at 192.0.2.1:0: ",
		"t@" + taken.Addr().String(): "nobody can listen at " + taken.Addr().String() + ": ",
		"t@127.0.0.1:0":              "",
	} {
		token, err := CheckListen(text)
		switch {
		case want == "" && (err != nil || text != "" && token != "t"):
			t.Errorf("%q: token %q, %v", text, token, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
	if err := CheckURL("nats://@host:4222"); err == nil || !strings.Contains(err.Error(), "write nats://TOKEN@host:4222") {
		t.Errorf("an empty token of a URL: %v", err)
	}
}

// TestToken: a token need not be part of an address, and may then contain any characters.
func TestToken(t *testing.T) {
	b := newBed(t)
	address := freeAddress(t)
	const secret = "a/b:c@d+e="
	r := newResults(t)
	ended := make(chan error, 1)
	go func() {
		ended <- Publish(context.Background(), Options{Peer: Peer{URL: EmbeddedURL, Token: secret, Version: "1", Log: b.j.log}, Embed: embed, Listen: address, Name: "n"}, numbered(50), r.done)
	}()
	eventually(t, "the server says where it is", func() bool { return b.j.count(address) == 1 })
	w := b.workerOptions()
	w.URL = "nats://" + address
	for _, wrong := range []string{"", "wrong"} {
		w.Token = wrong
		if err := Work(context.Background(), w, echo); err == nil || !strings.Contains(err.Error(), "does not accept") {
			t.Errorf("token %q gives: %v", wrong, err)
		}
	}
	w.Token = secret
	b.work(w, echo)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	r.check(want(50))
	if b.j.count(secret) > 0 {
		t.Errorf("the token was logged: %q", b.j.lines)
	}
}

func TestReadSecrets(t *testing.T) {
	dir := t.TempDir()
	put := func(text string) string {
		path := filepath.Join(dir, "secret")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for text, want := range map[string]string{
		"s3cret\n": "", " \ts3cret\r\n\n": "", "\uFEFFs3cret": "",
		"": "holds no token", "\n \n": "holds no token", "two words": "one word", "two\nlines": "one word",
		"s3\x1b[2J": "one word", strings.Repeat("a", maxSecretBytes+1): "is larger than 64 KiB",
	} {
		token, err := ReadToken(put(text))
		if want == "" && (err != nil || token != "s3cret") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.20q: %q, %v", text, token, err)
		}
		if err := CheckCredentials(filepath.Join(dir, "secret")); err == nil {
			t.Errorf("%.20q is taken for credentials", text)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "none")} {
		if _, err := ReadToken(path); err == nil || !strings.Contains(err.Error(), " cannot be read: ") {
			t.Errorf("%s: %v", path, err)
		}
	}
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	creds := "-----BEGIN NATS USER JWT-----\na.b.c\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n" + string(seed) + "\n------END USER NKEY SEED------\n"
	if err := CheckCredentials(put(creds)); err != nil {
		t.Error(err)
	}
	if err := CheckCredentials(put(strings.Replace(creds, string(seed[:8]), "SUAAAAAA", 1))); err == nil {
		t.Error("a key that is none is taken")
	}
}
