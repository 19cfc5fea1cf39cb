"""What programs do, as tables by family. Each entry carries commands that must and must not match; the tests run them all."""
