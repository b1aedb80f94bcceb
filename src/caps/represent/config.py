"""Sizes of the representation networks; the defaults are the paper's table."""

from dataclasses import dataclass

from caps.errors import InputError


@dataclass(frozen=True, slots=True)
class RepresentConfig:
    """Sizes of encoder, heads and auxiliary decoders."""

    window: int = 256  # T; the paper's input shape [B, 1, 256]
    hidden: tuple[int, int, int] = (64, 128, 256)  # encoder widths; the paper's table
    strides: tuple[int, int, int] = (1, 1, 1)  # down-sampling before each width; 1 = full length
    kernels: tuple[int, ...] = (3, 5, 7, 9)  # multi-scale extractor; the paper's table
    dilations: tuple[int, ...] = (1, 2, 3, 4)  # one for each kernel; the paper's table
    dropout: float = 0.1  # the paper's table
    structure: int = 128  # dim(z_s)
    semantic: int = 48  # dim(z_a)
    location: int = 64  # location embedding of the residual decoder
    base_width: int = 256
    residual_width: int = 192
    residual_blocks: int = 6  # dilations 1, 2, 4, 8, 1, ...; the codes carry what lies farther off
    patch: int = 1  # time steps the residual decoder treats as one position; 1 = full length

    def __post_init__(self) -> None:
        if len(self.kernels) != len(self.dilations):
            raise InputError("kernels and dilations differ in number", "give one for each branch")
        if self.hidden[0] % len(self.kernels):
            raise InputError(
                f"{self.hidden[0]} channels do not split into {len(self.kernels)} branches",
                "make the first hidden width a multiple of the number of kernels",
            )
        if self.window % self.patch or self.window % self.downsampling:
            raise InputError(
                f"a window of {self.window} is no multiple of patch {self.patch} "
                f"and down-sampling {self.downsampling}",
                "choose strides and patch that divide the window",
            )

    @property
    def downsampling(self) -> int:
        """Time steps behind one position of the encoder's output."""
        first, second, third = self.strides
        return first * second * third
