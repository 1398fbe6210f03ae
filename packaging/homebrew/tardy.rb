# tardy for Homebrew on Linux. The archive of the sources that `make dist` leaves belongs beside this file.
class Tardy < Formula
  desc "Measures how late Linux wakes tasks, and explains why"
  url "file://#{__dir__}/tardy-0.2.0.tar.gz"
  version "0.2.0"
  license any_of: ["Apache-2.0", "MIT"]

  depends_on "rust" => :build
  depends_on :linux

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/tardy")
    system "cargo", "install", *std_cargo_args(path: "crates/measure/tardy-meter")
    system bin/"tardy", "man", "--dir", man1
    generate_completions_from_executable(bin/"tardy", "completions")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/tardy --version")
    assert_match "no runs below", shell_output("#{bin}/tardy list .")
  end
end
