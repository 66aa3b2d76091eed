// This file reads and checks tokens, credentials and addresses, for the options of
// commands.

package queue

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strconv"
	"strings"
	"unicode"

	"github.com/nats-io/nkeys"

	"sim/internal/infile"
)

// maxSecretBytes is the maximum size of a file with a token or credentials. Credentials take
// about 1 KB, so a larger file was named by mistake.
const maxSecretBytes = 64 << 10

// ReadToken reads a token from a file that contains only the token and white space.
func ReadToken(path string) (string, error) {
	data, err := readSecret(path)
	if err != nil {
		return "", err
	}
	t := strings.TrimSpace(string(data))
	if t == "" {
		return "", fmt.Errorf("queue: %s holds no token", path)
	}
	if err := CheckToken(t); err != nil {
		return "", fmt.Errorf("%w, which %s does not hold", err, path)
	}
	return t, nil
}

// CheckToken fails if token is not a word of printable characters.
func CheckToken(token string) error {
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }) {
		return errors.New("queue: a token is one word of printable characters")
	}
	return nil
}

// CheckCredentials fails if a file is not a NATS credentials file with a user's JWT and
// key.
func CheckCredentials(path string) error {
	data, err := readSecret(path)
	if err != nil {
		return err
	}
	jwt, err := nkeys.ParseDecoratedJWT(data)
	if err == nil && strings.Count(jwt, ".") != 2 {
		err = errors.New("it has no user JWT")
	}
	if err == nil {
		_, err = nkeys.ParseDecoratedUserNKey(data)
	}
	if err != nil {
		return fmt.Errorf("queue: %s is no NATS credentials file: %w", path, err)
	}
	return nil
}

// readSecret reads a small file.
func readSecret(path string) ([]byte, error) {
	data, err := infile.Read(path, maxSecretBytes)
	if len(data) > maxSecretBytes {
		return nil, fmt.Errorf("queue: %s is larger than %d KiB", path, maxSecretBytes>>10)
	}
	if err == nil {
		return bytes.TrimPrefix(data, []byte("\uFEFF")), nil
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return nil, fmt.Errorf("queue: %s cannot be read: %w", path, err)
}

// CheckListen fails if an embedded server cannot listen at an address. Commands call it
// before they start. It returns the token in text, or "".
func CheckListen(text string) (token string, err error) {
	address, token, err := parseListen(text)
	if err != nil {
		return "", err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return "", fmt.Errorf("queue: nobody can listen at %s: %w", text[strings.LastIndex(text, "@")+1:], err)
	}
	return token, l.Close()
}

// parseListen splits [TOKEN@][HOST]:PORT.
func parseListen(text string) (address, token string, err error) {
	if text == "" {
		return "", "", nil
	}
	address = text
	if i := strings.LastIndex(text, "@"); i >= 0 {
		token, address = text[:i], text[i+1:]
		switch {
		case token == "":
			return "", "", fmt.Errorf("queue: there is no token before the @ of %q, so nobody would be asked for one; write TOKEN@%s", text, address)
		case strings.ContainsAny(token, ":/@ "):
			return "", "", errors.New("queue: the token before @ must be without ':', '/', '@' and spaces")
		}
		if err := CheckToken(token); err != nil {
			return "", "", err
		}
	}
	_, service, err := net.SplitHostPort(address)
	port := 0
	if err == nil {
		port, err = strconv.Atoi(service)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", "", fmt.Errorf("queue: %q is no address to listen at; write HOST:PORT or :PORT", address)
	}
	return address, token, nil
}
