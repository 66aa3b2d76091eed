package sheet

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"io"
	"slices"
)

// writePNG writes an opaque image. Unlike image/png it filters no row: filters are for photographs, and to choose one for
// each row takes three quarters of the time. Figures are areas of one colour, which are smaller without.
func writePNG(w io.Writer, m *image.RGBA) error {
	size := m.Rect.Size()
	head := binary.BigEndian.AppendUint32(nil, uint32(size.X))
	head = binary.BigEndian.AppendUint32(head, uint32(size.Y))
	head = append(head, 8, 2, 0, 0, 0) // bits, of red, green and blue; the only compression and filters; not interlaced

	var data bytes.Buffer
	z, err := zlib.NewWriterLevel(&data, zlib.BestSpeed)
	if err != nil {
		return err
	}
	row := make([]byte, 1+3*size.X) // a zero before the pixels: not filtered
	for line := range slices.Chunk(m.Pix, m.Stride) {
		for from, to := line[:4*size.X], row[1:]; len(from) >= 4 && len(to) >= 3; from, to = from[4:], to[3:] {
			to[0], to[1], to[2] = from[0], from[1], from[2]
		}
		if _, err := z.Write(row); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}

	out := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(name string, content []byte) {
		out = binary.BigEndian.AppendUint32(out, uint32(len(content)))
		named := len(out)
		out = append(append(out, name...), content...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[named:]))
	}
	chunk("IHDR", head)
	chunk("IDAT", data.Bytes())
	chunk("IEND", nil)
	_, err = w.Write(out)
	return err
}
